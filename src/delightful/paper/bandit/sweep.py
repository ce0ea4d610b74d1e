"""Which configs and seeds the bandit's figures and claims need, at each scale."""

from dataclasses import replace
from typing import Any

import polars as pl

from delightful.lab.cells import Sweep
from delightful.paper.bandit.config import ALIGN, TRAIN, AlignmentConfig, BanditConfig

_METHODS = ("pg", "dg")
_TEMPERATURES = (0.1, 0.3, 1.0, 3.0, 10.0)


def _training(scale: str) -> list[BanditConfig]:
    default = BanditConfig()
    steps = 20 if scale == "smoke" else default.steps
    return [replace(default, method=method, steps=steps) for method in _METHODS]


def _robustness(scale: str) -> list[BanditConfig]:
    base = _training(scale)
    dg = base[-1]
    # Each number of actions and each batch is a program of its own to compile.
    actions, batches = ((10,), (10,)) if scale == "smoke" else ((3, 10, 30, 300), (1, 10, 1000))
    varied = [replace(c, actions=k) for k in actions for c in base]
    varied += [replace(c, batch=b) for b in batches for c in base]
    varied += [replace(c, baseline=b) for b in (0.0, 0.1, 0.9, 1.0) for c in base]
    varied += [replace(dg, method=f"dg:temperature={eta}") for eta in _TEMPERATURES]
    return base + varied


def _alignment(_: str) -> list[AlignmentConfig]:
    return [
        AlignmentConfig(method=method, error=error, batch=batch)
        for error in (0.5, 0.1)
        for batch in (1, 10, 100, 1000, 10_000, 100_000)
        for method in _METHODS
    ]


_VARIED = ("actions", "batch", "baseline")


def centre(table: pl.DataFrame) -> dict[str, Any]:
    """Where a robustness table starts from: its first config, which the others vary."""
    return {name: table[name][0] for name in _VARIED}


def at_centre(rows: pl.DataFrame, centre: dict[str, Any], free: str | None = None) -> pl.DataFrame:
    """The rows whose actions, batch and baseline, all but `free`, are those of the centre."""
    for name, value in centre.items():
        if name != free:
            rows = rows.filter(pl.col(name) == value)
    return rows


TRAINING = Sweep("bandit/training", TRAIN, _training, {"smoke": 4, "quick": 30, "paper": 100})
ROBUSTNESS = Sweep("bandit/robustness", TRAIN, _robustness, {"smoke": 2, "quick": 10, "paper": 100})
ALIGNMENT = Sweep("bandit/alignment", ALIGN, _alignment, {"smoke": 20, "quick": 200, "paper": 1000})

SWEEPS = (TRAINING, ROBUSTNESS, ALIGNMENT)
