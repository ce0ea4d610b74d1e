"""Runs as the lab has them: curves, one seed at a time, gone on with where they were stopped."""

import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from delightful.agents.control.checkpoints import CheckpointError
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.training import Record, train
from delightful.lab.cells import Curves

Train = Callable[[int, Path | None], list[Record]]
"""A seed and the folder of its checkpoints, if they are kept -> the run's records."""


def run(config: ControlConfig, seeds: np.ndarray, folder: Path | None = None) -> Curves:
    config.check()
    name = f"{config.task}, {config.method}"
    return curves(lambda seed, kept: train(config, seed, kept)[0], name, seeds, folder)


def curves(train: Train, name: str, seeds: np.ndarray, folder: Path | None) -> Curves:
    """What `train` records for each of the seeds; `name` is what a person is told of."""
    runs = []
    for seed in map(int, seeds):
        records = _gone_on_with(train, seed, folder and folder / str(seed))
        runs.append(records)
        dropped = sum(int(record["dropped"]) for record in records)
        if dropped:
            print(
                f"{name}, seed {seed}: {dropped} episodes were dropped, in which the simulator "
                "gave NaN.",
                file=sys.stderr,
            )
    names = [name for name in runs[0][0] if name != "step"]
    return {
        "step": np.array([record["step"] for record in runs[0]]),
        **{name: np.array([[r[name] for r in records] for records in runs]) for name in names},
    }


def _gone_on_with(train: Train, seed: int, folder: Path | None) -> list[Record]:
    """From its checkpoint; anew if that is of no use, which is then put aside."""
    try:
        return train(seed, folder)
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
        return train(seed, folder)
