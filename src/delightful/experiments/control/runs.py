"""A run as the lab has it: curves, one seed at a time, gone on with where it was stopped."""

import itertools
import sys
from pathlib import Path

import numpy as np

from delightful.experiments.control.checkpoint import CheckpointError
from delightful.experiments.control.config import ControlConfig
from delightful.experiments.control.training import Record, train
from delightful.lab.cells import Curves


def run(config: ControlConfig, seeds: np.ndarray, folder: Path | None = None) -> Curves:
    config.check()
    runs = [_records(config, int(seed), folder and folder / str(seed)) for seed in seeds]
    names = [name for name in runs[0][0] if name != "step"]
    return {
        "step": np.array([record["step"] for record in runs[0]]),
        **{name: np.array([[r[name] for r in records] for records in runs]) for name in names},
    }


def _records(config: ControlConfig, seed: int, folder: Path | None) -> list[Record]:
    records = _trained(config, seed, folder)
    dropped = sum(int(record["dropped"]) for record in records)
    if dropped:
        print(
            f"{config.task}, {config.method}, seed {seed}: {dropped} episodes were dropped, in "
            "which the simulator gave NaN.",
            file=sys.stderr,
        )
    return records


def _trained(config: ControlConfig, seed: int, folder: Path | None) -> list[Record]:
    try:
        return train(config, seed, folder)[0]
    except CheckpointError as error:
        if folder is None:
            raise
        numbers = itertools.count(1)
        names = (folder.with_name(f"{folder.name}.aside-{number}") for number in numbers)
        aside = next(name for name in names if not name.exists())
        folder.rename(aside)
        print(
            f"{error} The run is begun anew; until it is done, what it left is in {aside}.",
            file=sys.stderr,
        )
        return train(config, seed, folder)[0]
