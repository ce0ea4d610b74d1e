"""Tables such as a store gives, of numbers that are known beforehand."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from delightful.lab.cells import Cell, Plan, Sweep

Measured = Callable[[Any], Any]
"""Gives for a config its metrics, each as a number, as one for each record, or as an array that
broadcasts to (seeds, records)."""


_KNOWN: dict[tuple[str, str], list[Cell]] = {}


def _cells(sweep: Sweep, plan: Plan) -> list[Cell]:
    """The cells of a plan; checking their methods takes longer than all the rest."""
    key = (sweep.name, plan.options)
    if key not in _KNOWN:
        _KNOWN[key] = sweep.cells(replace(plan, seeds=1))
    return _KNOWN[key]


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
    cells = _cells(sweep, plan or Plan("paper"))
    configs = [replace(cell.config, records=records or cell.config.records) for cell in cells]
    columns: dict[str, list[np.ndarray]] = {name: [] for name in ("seed", "step", *metrics)}
    for config in configs:
        shape = (seeds, config.records)
        step = config.steps // config.records * np.arange(1, config.records + 1, dtype=np.int32)
        given = dict.fromkeys(metrics, 0.3) | measured(config)
        columns["seed"].append(np.repeat(np.arange(seeds, dtype=np.int32), config.records))
        columns["step"].append(np.tile(step, seeds))
        for name in metrics:
            values = np.asarray(given[name]) * (1 + rng.permutation(spread))
            columns[name].append(np.broadcast_to(values, shape).ravel().astype(dtype))
    rows = np.repeat(np.arange(len(configs)), [seeds * config.records for config in configs])
    fields = pl.DataFrame([asdict(config) for config in configs]).cast({pl.Int64: pl.Int32})
    roles = [(cell.role, " ".join(cell.varied)) for cell in cells]
    fields = fields.hstack(pl.DataFrame(roles, schema=["role", "varied"], orient="row"))
    table = pl.DataFrame({name: np.concatenate(parts) for name, parts in columns.items()})
    return table.with_columns(fields[rows])  # the config's columns come last, as in a store


@pytest.fixture(scope="session")
def table_of() -> Callable[..., pl.DataFrame]:
    return runs_of
