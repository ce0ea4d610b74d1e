"""From the table of a sweep, one row per seed and step, to selections, means and arrays."""

from typing import Any

import numpy as np
import polars as pl

from delightful.lab.verdicts import NotMeasuredError
from delightful.registry import parse_method


def with_role(table: pl.DataFrame, *roles: str) -> pl.DataFrame:
    """Select the runs that their sweep gave one of these roles."""
    return table.filter(pl.col("role").is_in(roles))


def varying(table: pl.DataFrame, *grids: str) -> pl.DataFrame:
    """Select the runs on one of these grids of their sweep."""
    on = pl.col("varied").str.split(" ")
    return table.filter(pl.any_horizontal(on.list.contains(grid) for grid in grids))


def at_end(table: pl.DataFrame) -> pl.DataFrame:
    """Select the last record of every run."""
    return table.filter(pl.col("step") == pl.col("steps"))


def by_option(rows: pl.DataFrame, name: str, *options: str) -> pl.DataFrame:
    """Select the runs of one method, with the values of its options as columns."""
    found = {}
    for spec in rows["method"].unique().to_list():
        method, values = parse_method(spec)
        others = {o: default for o, default in method.defaults.items() if o not in options}
        if method.name == name and others.items() <= values.items():
            found[spec] = values
    columns = {
        option: pl.col("method").replace_strict(
            {spec: values[option] for spec, values in found.items()}, return_dtype=pl.Float64
        )
        for option in options
    }
    mine = rows.filter(pl.col("method").is_in(list(found)))
    return mine.with_columns(method=pl.lit(name), **columns)


def averages(metric: str) -> dict[str, pl.Expr]:
    """The mean of a metric over seeds, its standard error, and how many seeds there are."""
    values = pl.col(metric)
    return {"mean": values.mean(), "se": values.std() / pl.len().sqrt(), "seeds": pl.len()}


def means(rows: pl.DataFrame, metric: str, keys: tuple[str, ...]) -> pl.DataFrame:
    """Average a metric over seeds."""
    groups = rows.group_by(*keys, maintain_order=True)  # sums depend on the order
    return groups.agg(**averages(metric)).sort(*keys)


def by_step(table: pl.DataFrame, metric: str, keys: tuple[str, ...] = ("method",)) -> pl.DataFrame:
    """Average a metric over seeds at each step, for each value of `keys`; as `means`."""
    return means(table, metric, (*keys, "step")).with_columns(metric=pl.lit(metric))


def seeds_by_steps(table: pl.DataFrame, metric: str, **where: Any) -> np.ndarray:
    """Collect a metric of one config as an array."""
    for name, value in where.items():
        table = table.filter(pl.col(name) == value)
    if table.is_empty():
        rows = ", ".join(f"{name}={value}" for name, value in where.items())
        raise NotMeasuredError(f"it needs runs with {rows}")
    table = table.sort("seed", "step")
    return table[metric].to_numpy().reshape(table["seed"].n_unique(), -1)
