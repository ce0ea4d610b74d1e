"""Comparisons of two methods that several sections make."""

import numpy as np
import polars as pl

from delightful.lab.quantities import Mean
from delightful.lab.tables import seeds_by_steps
from delightful.lab.verdicts import Criterion, Measurement, NotMeasuredError, above, measured


def pg_and_dg(table: pl.DataFrame, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """`metric` of PG and of DG, each as (seeds, steps)."""
    if not {"pg", "dg"} <= set(table["method"].unique().to_list()):
        raise NotMeasuredError("it compares pg and dg, and one of them was not run")
    return seeds_by_steps(table, metric, method="pg"), seeds_by_steps(table, metric, method="dg")


def lower(above: np.ndarray, below: np.ndarray) -> Mean:
    """By how much `below` is lower, on the same seeds."""
    above, below = np.asarray(above, float), np.asarray(below, float)
    return Mean(above - below, (float(above.mean()), float(below.mean())))


def throughout(metric: str) -> Criterion:
    """The criterion that DG's metric is below PG's in every stretch of training."""
    return above(0, f"{metric}, PG − DG, in every tenth of training", ours="the tenths")


def lower_throughout(table: pl.DataFrame, metric: str) -> Measurement:
    """DG's `metric` below PG's in every tenth of training: the quantity of `throughout`."""
    pg, dg = pg_and_dg(table, metric)
    share = float(np.mean(dg.mean(0) < pg.mean(0)))
    note = f"over {pg.shape[1]} steps; DG's mean is the lower at {share:.0%} of them"
    stretches = np.array_split(np.arange(pg.shape[1]), min(10, pg.shape[1]))
    gaps = {
        f"steps {part[0] + 1} to {part[-1] + 1}": lower(pg[:, part].mean(1), dg[:, part].mean(1))
        for part in stretches
    }
    return measured(gaps, note=note)
