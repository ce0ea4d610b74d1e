"""Errors of runs with frictions: at the end of training, and when they first fall below a bound."""

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from delightful.lab.tables import seeds_by_steps, varying
from delightful.lab.verdicts import NotMeasuredError
from delightful.paper.frictions.sweep import ALL, FRICTIONS, TOGETHER

REACHED = 0.1  # of wrong tokens: a fifth of the error of answers that are guessed, at M = 2

ByRate = dict[float, np.ndarray]
"""One number per seed, or per seed and record, by the learning rate."""


def final_errors(table: pl.DataFrame) -> pl.DataFrame:
    """One row per run, with `final`, its error averaged over the last tenth of training."""
    late = table.filter(pl.col("step") > 0.9 * pl.col("steps"))
    last = late.filter(pl.col("step") == pl.col("steps"))
    run = [name for name in _IDENTITY if name in table.columns]
    means = late.group_by(run).agg(final=pl.col("error").cast(pl.Float64).mean())
    return last.join(means, on=run, how="left", maintain_order="left")


_IDENTITY = (
    *("method", "learning_rate", "delay", "ages", "bugs", "corruption", "discovery"),
    *("length", "vocabulary", "steps", "records", "seed"),
)


def multiples(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows on the grid of all four at once, with `all`, how many times the default they are."""
    share = pl.col("corruption") / TOGETHER["corruption"]
    return varying(rows, ALL).with_columns(share.alias(ALL))


def at_best_rates(rows: pl.DataFrame, metric: str, field: str) -> pl.DataFrame:
    """Of each method, at each value of a field, the runs at the rate with the lowest mean."""
    key = ["method", field]
    by_rate = rows.group_by(*key, "learning_rate").agg(pl.col(metric).mean())
    best = by_rate.sort(metric, "learning_rate").group_by(key, maintain_order=True).first()
    return rows.join(best.select(*key, "learning_rate"), on=[*key, "learning_rate"], how="semi")


def by_rate(rows: pl.DataFrame, metric: str, **where: Any) -> ByRate:
    """`metric` of one method, by learning rate, each of shape (seeds,) or (seeds, records)."""
    for name, value in where.items():
        rows = rows.filter(pl.col(name) == value)
    rates = sorted(rows["learning_rate"].unique().to_list())
    if not rates:
        words = ", ".join(f"{name}={value}" for name, value in where.items())
        raise NotMeasuredError(f"it needs runs with {words}")
    return {rate: seeds_by_steps(rows, metric, learning_rate=rate) for rate in rates}


class Reached(NamedTuple):
    """When the error of each run first was at most `REACHED`."""

    steps: np.ndarray  # (seeds,); the length of the run, if it never was
    censored: bool  # whether some never were


def reached(error: np.ndarray, step: np.ndarray) -> Reached:
    """The step of the first record at which the error is at most `REACHED`.

    Args:
        error: by seed and record.
        step: of the records.

    Returns:
        One step per seed.
    """
    below = error <= REACHED
    first = np.where(below.any(axis=1), below.argmax(axis=1), -1)
    return Reached(step[first].astype(float), bool(np.any(first < 0)))


def settings(table: pl.DataFrame) -> dict[str, dict[str, float]]:
    """The frictions that were run, by their names in words: each alone, and all at once."""
    found = {}
    rows = table.select(FRICTIONS).unique(maintain_order=True).rows(named=True)
    for row in rows:
        acting = {name: value for name, value in row.items() if value}
        if len(acting) == 1:
            ((name, value),) = acting.items()
            found[_WORDS[name].format(value)] = row
        elif acting:
            times = row["corruption"] / TOGETHER["corruption"]
            found["all at once" + ("" if times == 1 else f", {times:g} times as strong")] = row
    return found


_WORDS = {
    "delay": "actors up to {} updates old",
    "bugs": "{:.0%} bugs",
    "corruption": "{:.0%} corrupted rewards",
    "discovery": "{:.0%} discoveries",
}
