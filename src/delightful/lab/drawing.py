"""How tables become lines: along training, or at its end against one quantity."""

from typing import Any

import polars as pl
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from delightful.lab import style
from delightful.lab.curves import by_step, label, methods
from delightful.weights import parse_method


def at_end(table: pl.DataFrame) -> pl.DataFrame:
    """The last record of every run."""
    return table.filter(pl.col("step") == pl.col("steps"))


def by_option(table: pl.DataFrame, name: str, option: str) -> pl.DataFrame:
    """The last records of the method `name`, its `option` as a column, other options at their
    defaults."""
    values = {}
    for spec in table["method"].unique().to_list():
        method, options = parse_method(spec)
        others = {**options, option: method.defaults.get(option)}
        if method.name == name and others == method.defaults:
            values[spec] = options[option]
    rows = at_end(table).filter(pl.col("method").is_in(list(values)))
    return rows.with_columns(
        pl.col("method").replace_strict(values, return_dtype=pl.Float64).alias(option),
        method=pl.lit(name),
    )


def along(
    axis: Any,
    table: pl.DataFrame,
    metric: str,
    *,
    keys: tuple[str, ...] = ("method",),
    named: str = "",
    colour: str | None = None,
    **line: Any,
) -> pl.DataFrame:
    """`metric` along training, a line per method; the numbers drawn.

    named: added to the method's name in the legend, or the whole entry if there is a `colour`.
    """
    numbers = by_step(table, metric, keys)
    for name in methods(table):
        part = numbers.filter(pl.col("method") == name)
        _line(axis, part, "step", colour or style.colours([name])[0], **line).set_label(
            named if colour else label(name) + named
        )
    axis.set_xlabel("step")
    return numbers


def against(
    axis: Any,
    rows: pl.DataFrame,
    field: str,
    metric: str,
    *,
    keys: tuple[str, ...] = ("method",),
    named: str = "",
    **line: Any,
) -> pl.DataFrame:
    """`metric` at the end of training against `field`, a line per method; the numbers drawn."""
    error = pl.col(metric).std() / pl.len().sqrt()
    numbers = (
        rows.group_by(*keys, pl.col(field).cast(pl.Float64), maintain_order=True)
        .agg(pl.col(metric).mean().alias("mean"), error.alias("se"), pl.len().alias("seeds"))
        .sort(*keys, field)
        .with_columns(metric=pl.lit(metric))
    )
    for name in methods(rows):
        part = numbers.filter(pl.col("method") == name).sort(field)
        drawn = _line(axis, part, field, style.colours([name])[0], marker="o", ms=3.5, **line)
        drawn.set_label(label(name) + named)
    return numbers


def level(
    axis: Any, rows: pl.DataFrame, metric: str, name: str, *, colour: str, line: str
) -> pl.DataFrame:
    """`metric` of one config as a horizontal line; the number drawn."""
    error = pl.col(metric).std() / pl.len().sqrt()
    mean = pl.col(metric).mean()
    number = rows.select(mean.alias("mean"), error.alias("se"), pl.len().alias("seeds"))
    if rows.is_empty():
        return number.clear()
    axis.axhline(number["mean"][0], color=colour, linestyle=line, lw=1, label=name)
    return number.with_columns(method=pl.lit(name), metric=pl.lit(metric))


def _line(axis: Any, part: pl.DataFrame, x: str, colour: str, **line: Any) -> Any:
    error = None if part["se"].null_count() else part["se"]
    style.curve(axis, part[x], part["mean"], error, colour=colour, label="", **line)
    return axis.get_lines()[-1]


def percent(axis: Any) -> None:
    """The y axis in per cent, a logarithmic one with ticks at 1, 2, 5, 10 and so on."""
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
    axis.set_xscale("log")
    axis.set_xticks(list(values), labels=[f"{value:g}" for value in values])
    axis.xaxis.set_minor_locator(NullLocator())
