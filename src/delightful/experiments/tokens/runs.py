"""What a run of Token Reversal comes to: its error along training, in episodes or updates."""

from typing import Any

import numpy as np
import polars as pl

from delightful.experiments.tokens.sweep import RIVALS
from delightful.lab.curves import seeds_by_steps
from delightful.lab.experiment import NotMeasuredError
from delightful.weights import parse_method


def with_regret(table: pl.DataFrame) -> pl.DataFrame:
    """The table with `regret`, the average error so far, and `updates`, the gradient steps so far.

    A record is the mean of equally many batches, so the mean of the records is that of them all.
    """
    measured = {"step", "error", "reward", "gate_good", "gate_bad", "surprisal", "regret"}
    run = [name for name in table.columns if name not in measured]
    error = pl.col("error").cast(pl.Float64)
    records = pl.col("step").rank("ordinal").over(run)
    return table.with_columns(
        error=error,
        regret=error.cum_sum().over(run, order_by="step") / records,
        updates=pl.col("step") * pl.col("epochs") * pl.col("minibatches"),
    )


def ends(table: pl.DataFrame) -> pl.DataFrame:
    """The last record of every run, with its regret."""
    return with_regret(table).filter(pl.col("step") == pl.col("steps"))


def by_seed(rows: pl.DataFrame, metric: str, **where: Any) -> np.ndarray:
    """`metric` of the one config that is asked for, one number per seed, from rows of `ends`."""
    runs = seeds_by_steps(rows, metric, **where)
    if runs.shape[1] > 1:
        words = ", ".join(f"{name}={value}" for name, value in where.items())
        raise NotMeasuredError(f"it needs one config with {words}, and there are several")
    return np.asarray(runs[:, 0])


def regret_at_updates(table: pl.DataFrame, updates: int, **where: Any) -> np.ndarray:
    """The average error until that many gradient steps were made, one number per seed."""
    early = with_regret(table).filter(pl.col("updates") <= updates)
    return np.asarray(seeds_by_steps(early, "error", **where).mean(axis=1))


def rivals(table: pl.DataFrame) -> dict[str, str]:
    """The specs in a table of DG and of what it is compared with, by the method's name.

    A sweep may hold more configs of a method than the one that is compared; `RIVALS` says which.
    """
    specs = {parse_method(spec)[0].name: spec for spec in RIVALS}
    there = set(table["method"].unique().to_list())
    found = {name: spec for name, spec in specs.items() if spec in there}
    if "dg" not in found or len(found) < 2:
        raise NotMeasuredError("it compares dg with other methods, and not enough of them were run")
    return found


def by_size(table: pl.DataFrame, field: str) -> pl.DataFrame:
    """The ends of those runs in which `field`, length or vocabulary, was varied.

    The other of the two is then the one that most runs have.
    """
    other = {"length": "vocabulary", "vocabulary": "length"}[field]
    usual = table.group_by(other).len().sort("len", other, descending=[True, False])[other][0]
    return ends(table).filter(pl.col(other) == usual)


def scaled(table: pl.DataFrame, field: str, metric: str) -> dict[str, dict[int, np.ndarray]]:
    """`metric` at the end of training, one number per seed, by method and by `field`."""
    rows = by_size(table, field)
    sizes = sorted(rows[field].unique().to_list())
    if len(sizes) < 2:
        raise NotMeasuredError(f"it needs runs of several values of {field}")
    return {
        spec: {size: by_seed(rows, metric, method=spec, **{field: size}) for size in sizes}
        for spec in rivals(rows).values()
    }
