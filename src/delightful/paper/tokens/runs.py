"""Errors of Token Reversal's runs: along training and at its end, by episodes and updates."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import polars as pl

from delightful.agents.tokens.config import TokensConfig
from delightful.lab.tables import at_end, seeds_by_steps, varying, with_role
from delightful.lab.verdicts import NotMeasuredError

_RUN = [*(field.name for field in fields(TokensConfig)), "seed"]  # what tells runs apart


def with_regret(table: pl.DataFrame) -> pl.DataFrame:
    """The table with `regret`, the average error so far, and `updates`, the gradient steps so far.

    Every record averages the same number of batches, so the mean of records is the mean of batches.
    """
    error = pl.col("error").cast(pl.Float64)
    records = pl.col("step").rank("ordinal").over(_RUN)
    return table.with_columns(
        error=error,
        regret=error.cum_sum().over(_RUN, order_by="step") / records,
        updates=pl.col("step") * pl.col("epochs") * pl.col("minibatches"),
    )


def ends(table: pl.DataFrame) -> pl.DataFrame:
    """The last record of every run, with its regret."""
    return at_end(with_regret(table))


def at_equal_updates(table: pl.DataFrame) -> pl.DataFrame:
    """The record of every run after the largest number of gradient steps that all runs have."""
    rows = with_regret(table)
    runs = rows.group_by("method", "epochs", "minibatches").agg("updates")
    common = set.intersection(*(set(updates) for updates in runs["updates"].to_list()))
    if not common:
        raise NotMeasuredError("it needs records after as many gradient steps of each method")
    return rows.filter(pl.col("updates") == max(common))


def by_seed(rows: pl.DataFrame, metric: str, **where: Any) -> np.ndarray:
    """`metric` of the one config that is asked for, one number per seed, from rows of `ends`."""
    runs = seeds_by_steps(rows, metric, **where)
    if runs.shape[1] > 1:
        words = ", ".join(f"{name}={value}" for name, value in where.items())
        raise NotMeasuredError(f"it needs one config with {words}, and there are several")
    return np.asarray(runs[:, 0])


def rivals(table: pl.DataFrame) -> list[str]:
    """The methods that are compared, with their default options: DG, which is last, and its
    rivals, as far as they were run."""
    others = with_role(table, "rival")["method"].unique(maintain_order=True).to_list()
    found = [spec for spec in others if ":" not in spec]
    if not found or "dg" not in set(table["method"]):
        raise NotMeasuredError("it compares dg with other methods, and not enough of them were run")
    return [*found, "dg"]


def by_method(rows: pl.DataFrame, metric: str, **where: Any) -> dict[str, np.ndarray]:
    """`metric` of each method that is compared, one number per seed, from rows of `ends`."""
    return {spec: by_seed(rows, metric, method=spec, **where) for spec in rivals(rows)}


def scaled(
    rows: pl.DataFrame, field: str, metric: str, specs: Sequence[str]
) -> dict[str, dict[int, np.ndarray]]:
    """`metric`, one number per seed, by method and size, of the runs that vary `field`."""
    rows = varying(rows, field)
    sizes = sorted(rows[field].unique().to_list())
    return {
        spec: {size: by_seed(rows, metric, method=spec, **{field: size}) for size in sizes}
        for spec in specs
    }


def power_laws(by_size: dict[int, np.ndarray]) -> np.ndarray:
    """Exponents and log-coefficients of error against size, a row each, with a column per seed.

    A seed's runs at different sizes have nothing in common but its number, so pairing them by it is
    as good as any pairing.
    """
    return np.polyfit(np.log(list(by_size)), np.log(np.stack(list(by_size.values()))), 1)
