"""Which of MNIST's runs a line or a claim is about, and their errors at the end of training."""

import numpy as np
import polars as pl

from delightful.lab.cells import DEFAULT
from delightful.lab.quantities import Greatest, Mean
from delightful.lab.tables import at_end, by_option, seeds_by_steps, varying, with_role
from delightful.lab.verdicts import NotMeasuredError
from delightful.paper.comparisons import lower
from delightful.paper.mnist.config import BASELINES

Errors = dict[float, np.ndarray]
"""Final errors, one per seed, by the value of what is varied."""

Gaps = dict[str, Mean]
"""Differences on the same seeds, by the name of their case."""

Excesses = dict[str, Greatest]
"""Differences from the best of several, by the name of their case."""


def main_runs(table: pl.DataFrame) -> pl.DataFrame:
    """DG, its rivals and supervised CE, at the defaults of their sweep."""
    return varying(with_role(table, "main", "rival", "supervised"), DEFAULT)


def exact_pg(table: pl.DataFrame) -> pl.DataFrame:
    """The PG oracle: exact expectations, unless --set gave it samples."""
    return with_role(table, "oracle").filter(pl.col("samples") == 0)


def final(table: pl.DataFrame, metric: str = "train_error", **where: object) -> np.ndarray:
    """`metric` at the end of training, one number per seed."""
    return seeds_by_steps(at_end(table), metric, **where)[:, 0]


def require_every_baseline(table: pl.DataFrame) -> None:
    """Refuse a sentence on every baseline where one of the four was not run."""
    missing = [baseline for baseline in BASELINES if baseline not in set(table["baseline"])]
    if missing:
        raise NotMeasuredError(f"it needs every baseline; not run: {', '.join(missing)}")


def by_value(table: pl.DataFrame, field: str, metric: str = "train_error", **where: str) -> Errors:
    """Final errors by the value of a config field."""
    values = sorted(table[field].unique().to_list())
    return {value: final(table, metric, **{field: value}, **where) for value in values}


def by_grid(table: pl.DataFrame, name: str, option: str, metric: str = "train_error") -> Errors:
    """Final errors of the method `name` by the value of the option that its grid varies."""
    rows = by_option(varying(table, option), name, option)
    errors = by_value(rows, option, metric)
    if len(errors) < 2:
        raise NotMeasuredError(f"it needs runs of {name} with several values of {option}")
    return errors


def best(errors: Errors) -> float:
    """The value with the lowest mean error."""
    return min(errors, key=lambda value: float(errors[value].mean()))


def gaps(errors: Errors, base: np.ndarray, symbol: str) -> Gaps:
    """By how much the errors at each value are above `base`."""
    return {f"{symbol} = {value:g}": lower(runs, base) for value, runs in errors.items()}


def excess(errors: Errors, low: float, high: float, symbol: str) -> Excesses:
    """By how much the errors at each value outside `low` to `high` are above the best within."""
    within = {value: runs for value, runs in errors.items() if low <= value <= high}
    if not within:
        raise NotMeasuredError(f"it needs runs with {symbol} from {low:g} to {high:g}")
    outside = {value: runs for value, runs in errors.items() if value not in within}
    return {
        f"{symbol} = {value:g}": Greatest([lower(runs, other) for other in within.values()])
        for value, runs in outside.items()
    }
