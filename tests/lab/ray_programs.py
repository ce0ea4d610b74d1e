"""Programs that test_ray runs on Ray's workers, which import this file."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from delightful.lab.cells import Cell, Curves, Program
from delightful.lab.data_sets import DataSet


@dataclass(frozen=True)
class Config:
    method: str = "pg"
    number: int = 0
    folder: str = ""  # where a program leaves marks
    seconds: float = 0.0


def curves(seeds: np.ndarray, value: float) -> Curves:
    return {"step": np.arange(3), "value": np.outer(seeds + 1.0, [value, 2 * value, 3 * value])}


def sleeping(config: Config, seeds: np.ndarray) -> Curves:
    time.sleep(config.seconds)
    return curves(seeds, config.number)


def broken(_: Config, seeds: np.ndarray) -> Curves:
    return curves(seeds, np.nan)


def mistaken(_: Config, __: np.ndarray) -> Curves:
    raise TypeError("a mistake in a program")


def killed_once(config: Config, seeds: np.ndarray) -> Curves:
    mark = Path(config.folder) / f"killed-{config.number}"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return curves(seeds, config.number)


def killed(_: Config, __: np.ndarray) -> Curves:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def resumed(config: Config, seeds: np.ndarray, folder: Path) -> Curves:
    """Is killed half way, once; its value is the number of halves that its last attempt made."""
    halves = [name for name in ("first", "second") if not (folder / name).exists()]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "first").touch()
    mark = Path(config.folder) / "killed"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return curves(seeds, len(halves))


def share(_: Config, __: np.ndarray, folder: Path) -> float:
    return 0.5 if (folder / "first").exists() else 0.0


@DataSet
def numbers() -> np.ndarray:
    """What only the driver's machine has."""
    return np.arange(1000.0) if os.environ.get("HAS_NUMBERS") else np.zeros(0)


def reading(_: Config, seeds: np.ndarray) -> Curves:
    return curves(seeds, float(numbers().sum()))


def program(name: str, **options: str) -> Program:
    return Program(
        f"test/{name}", 1, f"{__name__}:{name}", 2, 0.01, lambda config: config.seconds, **options
    )


def cell(name: str, number: int = 0, *, folder: Path | str = "", seconds: float = 0.0) -> Cell:
    options = {
        "resumed": {"share": f"{__name__}:share"},
        "reading": {"data": f"{__name__}:numbers"},
    }
    config = Config(number=number, folder=str(folder), seconds=seconds)
    return Cell(program(name, **options.get(name, {})), config, 0, 2)
