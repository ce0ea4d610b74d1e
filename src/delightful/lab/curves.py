"""From a long table of seeds and steps to means, standard errors and per-seed arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from delightful.lab import style
from delightful.lab.experiment import Drawing, Finding, NotMeasuredError, found
from delightful.lab.statistics import Estimate, bootstrap
from delightful.weights import parse_method


def by_step(table: pl.DataFrame, metric: str, keys: tuple[str, ...] = ("method",)) -> pl.DataFrame:
    """Mean and standard error over seeds of `metric`, at each step, for each value of `keys`."""
    error = pl.col(metric).std() / pl.len().sqrt()
    return (
        table.group_by(*keys, "step", maintain_order=True)  # sums depend on the order
        .agg(pl.col(metric).mean().alias("mean"), error.alias("se"), pl.len().alias("seeds"))
        .sort(*keys, "step")
        .with_columns(metric=pl.lit(metric))
    )


def seeds_by_steps(table: pl.DataFrame, metric: str, **where: Any) -> np.ndarray:
    """`metric` as an array (seeds, steps) of the rows whose config equals `where`."""
    for name, value in where.items():
        table = table.filter(pl.col(name) == value)
    if table.is_empty():
        rows = ", ".join(f"{name}={value}" for name, value in where.items())
        raise NotMeasuredError(f"it needs runs with {rows}")
    table = table.sort("seed", "step")
    return table[metric].to_numpy().reshape(table["seed"].n_unique(), -1)


def pg_and_dg(table: pl.DataFrame, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """`metric` of the two methods that the paper compares most, each as (seeds, steps)."""
    if not {"pg", "dg"} <= set(table["method"].unique().to_list()):
        raise NotMeasuredError("it compares pg and dg, and one of them was not run")
    return seeds_by_steps(table, metric, method="pg"), seeds_by_steps(table, metric, method="dg")


def smallest_gap(above: np.ndarray, below: np.ndarray, window: int = 10) -> Estimate:
    """The smallest mean of above − below over any `window` consecutive steps, with its interval.

    Positive means that `below` is the lower one throughout.
    """
    window = min(window, above.shape[1])
    means = np.lib.stride_tricks.sliding_window_view(above - below, window, axis=1).mean(-1)
    return bootstrap(means[:, int(np.argmin(means.mean(0)))])


def dg_is_lower_throughout(table: pl.DataFrame, metric: str) -> Finding:
    """Whether DG's `metric` is below PG's in every stretch of ten steps."""
    pg, dg = pg_and_dg(table, metric)
    gap = smallest_gap(pg, dg)
    share = float(np.mean(dg.mean(0) < pg.mean(0)))
    note = f"over {pg.shape[1]} steps; DG's mean is the lower at {share:.0%} of them"
    measures = "smallest PG − DG over any ten steps"
    return found(measures, gap, gap.low > 0, partly=share > 0.9, note=note)


def methods(table: pl.DataFrame) -> list[str]:
    """The methods in a table, DG last so that it is drawn on top."""
    return sorted(table["method"].unique().to_list(), key=lambda m: (m.startswith("dg"), m))


def label(spec: str) -> str:
    """How a method spec reads in a legend: "DG", or "DG (temperature=0.5)"."""
    method, _ = parse_method(spec)
    options = spec.partition(":")[2]
    return f"{method.label} ({options.replace(',', ', ')})" if options else method.label


def draw_by_step(axis: Any, table: pl.DataFrame, metric: str) -> pl.DataFrame:
    """One line per method with a band of ±1 standard error; returns the numbers drawn."""
    summary = by_step(table, metric)
    names = methods(table)
    for name, colour in zip(names, style.colours(names), strict=True):
        part = summary.filter(pl.col("method") == name)
        error = None if part["se"].null_count() else part["se"]
        style.curve(axis, part["step"], part["mean"], error, colour=colour, label=label(name))
    axis.set_xlabel("step")
    return summary


Panel = Callable[[Any, pl.DataFrame], pl.DataFrame]
"""Draws a table on an axis and returns the numbers drawn."""


def side_by_side(*panels: Panel) -> Callable[[pl.DataFrame], Drawing]:
    """A figure's `draw`: one panel beside the other, lettered if there are several."""

    def draw(table: pl.DataFrame) -> Drawing:
        figure, axes = style.panels(len(panels))
        numbers = [panel(axis, table) for panel, axis in zip(panels, axes, strict=True)]
        for letter, axis in zip("abcdef", axes, strict=False):
            axis.set_title(f"({letter}) {axis.get_title()}" if len(panels) > 1 else "")
        style.legend(axes[0])
        return Drawing(figure, pl.concat(numbers, how="diagonal"))

    return draw
