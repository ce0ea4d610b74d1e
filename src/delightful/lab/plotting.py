"""Lines and axes: means along training, or at its end against one quantity."""

from collections.abc import Callable
from typing import Any

import polars as pl

from delightful.lab import style
from delightful.lab.experiment import Drawing
from delightful.lab.tables import averages, by_step, means
from delightful.registry import parse_method

Panel = Callable[[Any, pl.DataFrame], pl.DataFrame]
"""Draws a table on an axis and returns the numbers drawn."""


def methods(table: pl.DataFrame) -> list[str]:
    """The methods in a table, in the order in which they are drawn."""
    return style.ordered(table["method"].unique().to_list())


def label(spec: str) -> str:
    """How a method spec reads in a legend: "DG", or "DG (temperature=0.5)"."""
    method, _ = parse_method(spec)
    options = spec.partition(":")[2]
    return f"{method.label} ({options.replace(',', ', ')})" if options else method.label


def line(
    axis: Any, numbers: pl.DataFrame, x: str, *, colour: str, label: str = "", **look: Any
) -> None:
    """Draw a line through means, with a band of ±1 standard error if there is one."""
    axis.plot(numbers[x], numbers["mean"], color=colour, label=label, **look)
    if not numbers["se"].null_count():
        mean, error = numbers["mean"].to_numpy(), numbers["se"].to_numpy()
        band = {"color": colour, "alpha": 0.2, "linewidth": 0}
        axis.fill_between(numbers[x], mean - error, mean + error, **band)


def along(
    axis: Any,
    table: pl.DataFrame,
    metric: str,
    *,
    keys: tuple[str, ...] = ("method",),
    suffix: str = "",
    **look: Any,
) -> pl.DataFrame:
    """Draw a metric along training, a line per method."""
    numbers = by_step(table, metric, keys)
    _each_method(axis, numbers, "step", suffix, look)
    axis.set_xlabel("step")
    return numbers


def against(
    axis: Any,
    rows: pl.DataFrame,
    field: str,
    metric: str,
    *,
    keys: tuple[str, ...] = ("method",),
    suffix: str = "",
    **look: Any,
) -> pl.DataFrame:
    """Draw a metric at the end of training against a field, a line per method; see `along`."""
    rows = rows.with_columns(pl.col(field).cast(pl.Float64))
    numbers = means(rows, metric, (*keys, field)).with_columns(metric=pl.lit(metric))
    _each_method(axis, numbers.sort(field), field, suffix, {"marker": "o", "ms": 3.5} | look)
    return numbers


def _each_method(
    axis: Any, numbers: pl.DataFrame, x: str, suffix: str, look: dict[str, Any]
) -> None:
    for name in methods(numbers):
        part = numbers.filter(pl.col("method") == name)
        line(axis, part, x, label=label(name) + suffix, **(style.look(name) | look))


def level(
    axis: Any, rows: pl.DataFrame, metric: str, name: str, *, colour: str, linestyle: str = "--"
) -> pl.DataFrame:
    """Draw the mean of one config as a horizontal line."""
    number = rows.select(**averages(metric))
    if rows.is_empty():
        return number.clear()
    axis.axhline(number["mean"][0], color=colour, linestyle=linestyle, lw=1, label=name)
    return number.with_columns(method=pl.lit(name), metric=pl.lit(metric))


def side_by_side(table: pl.DataFrame, *panels: Panel) -> Drawing:
    """Draw panels side by side, lettered if there are several."""
    figure, axes = style.panels(len(panels))
    numbers = [panel(axis, table) for panel, axis in zip(panels, axes, strict=True)]
    if len(panels) == 1:
        axes[0].set_title("")
    else:
        letter(axes)
    style.legend(axes[0])
    return Drawing(figure, pl.concat(numbers, how="diagonal"))


def letter(axes: Any) -> None:
    """Put (a), (b) and so on before the titles of panels."""
    for name, axis in zip("abcdef", axes, strict=False):
        axis.set_title(f"({name}) {axis.get_title()}".rstrip())


def same_heights(axes: Any) -> None:
    """Give all panels the y axis that shows everything."""
    low, high = zip(*(axis.get_ylim() for axis in axes), strict=True)
    for axis in axes:
        axis.set_ylim(min(low), max(high))


def percent(axis: Any) -> None:
    """The y axis in per cent, a logarithmic one with ticks at 1, 2, 5, 10 and so on."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if axis.get_yscale() == "log":
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_minor_formatter(NullFormatter())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g}%"))


def logarithmic(axis: Any, numbers: pl.DataFrame) -> None:
    """The y axis in per cent and logarithmic, if any of the means drawn is above 0."""
    if not numbers.filter(pl.col("mean") > 0).is_empty():
        axis.set_yscale("log")
    percent(axis)


def ticks(axis: Any, values: Any) -> None:
    """A logarithmic x axis with the values that were run, and no others."""
    from matplotlib.ticker import NullLocator

    axis.set_xscale("log")
    axis.set_xticks(list(values), labels=[f"{value:g}" for value in values])
    axis.xaxis.set_minor_locator(NullLocator())
