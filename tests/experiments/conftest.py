"""Tables such as a store gives, of numbers that are known beforehand."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from delightful.lab.cells import Cell, Plan, Sweep
from delightful.lab.store import to_table

Measured = Callable[[Any], Any]
"""Gives for a config its metrics, each as a number, as one for each record, or as an array that
broadcasts to (seeds, records)."""


def runs_of(
    sweep: Sweep,
    measured: Measured,
    plan: Plan | None = None,
    seeds: int = 8,
    *,
    metrics: tuple[str, ...],
    records: int | None,
    dtype: Any = np.float64,
) -> pl.DataFrame:
    """What the runs of a sweep would have been if they had `measured`.

    metrics: every one that a run has; those not measured are 0.3.
    records: of each run; by default as many as its config says.
    """
    rng = np.random.default_rng(0)
    # The seeds differ, so that there are intervals, and their mean is what was asked for.
    spread = np.linspace(-0.01, 0.01, seeds)[:, None] if seeds > 1 else np.zeros((1, 1))
    parts = []
    for cell in sweep.cells(replace(plan or Plan("paper"), seeds=1)):
        config = replace(cell.config, records=records or cell.config.records)
        given = dict.fromkeys(metrics, 0.3) | measured(config)
        step = config.steps // config.records * np.arange(1, config.records + 1)
        columns = {
            name: (value * (1 + rng.permutation(spread)) + np.zeros_like(step)).astype(dtype)
            for name, value in ((name, np.asarray(value)) for name, value in given.items())
        }
        table = to_table(Cell(cell.program, config, 0, seeds), {"step": step, **columns})
        parts.append(table.with_columns(**{k: pl.lit(v) for k, v in asdict(config).items()}))
    return pl.concat(parts)


@pytest.fixture(scope="session")
def table_of() -> Callable[..., pl.DataFrame]:
    return runs_of
