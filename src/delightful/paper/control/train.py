"""Control runs as programs of the lab: curves, one seed at a time."""

import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from delightful.agents.control.checkpoints import CheckpointError
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.training import Record, train
from delightful.lab.cells import Curves


def run(config: ControlConfig, seeds: np.ndarray, folder: Path | None = None) -> Curves:
    """Train once per seed, resuming runs that were stopped from their checkpoints in `folder`."""
    config.check()
    name = f"{config.task}, {config.method}"
    return curves(lambda seed: _resumed(config, seed, folder and folder / str(seed)), name, seeds)


def curves(train: Callable[[int], list[Record]], name: str, seeds: np.ndarray) -> Curves:
    """The records of several seeds as curves; episodes dropped because of NaN are reported."""
    runs = []
    for seed in map(int, seeds):
        records = train(seed)
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


def _resumed(config: ControlConfig, seed: int, folder: Path | None) -> list[Record]:
    """Resume from a checkpoint; if it cannot be used, move it aside and start over."""
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
            f"{error} The run starts over; until it is done, its old files are in {aside}.",
            file=sys.stderr,
        )
        return train(config, seed, folder)[0]
