"""Tables such as a store gives, of numbers that are known beforehand."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from delightful.lab.cells import Plan, Sweep

ERRORS = ("train_error", "train_greedy_error", "val_error", "val_greedy_error")
GATES = ("gate_right", "gate_wrong", "gate_suppressed", "gate_neutral", "gate_open")
METRICS = (*ERRORS, "misalignment_pg", "misalignment_ce", *GATES)


def runs_of_mnist(
    sweep: Sweep, measured: Callable[[Any], Any], plan: Plan | None = None, seeds: int = 8
) -> pl.DataFrame:
    """What the runs of a sweep, with two records each, would have been if they had `measured`.

    measured: gives for a config its errors, as one number for all four; or some of its metrics,
        each as a number or as one for each record. The metrics not given are 0.3.
    """
    rng = np.random.default_rng(0)
    # The seeds differ, so that there are intervals, and their mean is what was asked for.
    noise = np.linspace(-1e-3, 1e-3, seeds) if seeds > 1 else np.zeros(1)
    parts = []
    cells = sweep.cells(replace(plan or Plan("paper"), seeds=1))
    for config in (replace(cell.config, records=2) for cell in cells):
        given = measured(config)
        given = given if isinstance(given, dict) else dict.fromkeys(ERRORS, given)
        columns = {
            "seed": np.repeat(np.arange(seeds), 2),
            "step": np.tile([config.steps // 2, config.steps], seeds),
        }
        for metric in METRICS:
            differences = np.stack([rng.permutation(noise), rng.permutation(noise)], axis=1)
            columns[metric] = (given.get(metric, 0.3) + differences).ravel()
        constants = {name: pl.lit(value) for name, value in asdict(config).items()}
        parts.append(pl.DataFrame(columns).with_columns(**constants))
    return pl.concat(parts)


@pytest.fixture(scope="session")
def runs() -> Callable[..., pl.DataFrame]:
    return runs_of_mnist
