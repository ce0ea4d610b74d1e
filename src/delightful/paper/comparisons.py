"""Comparisons of two methods that several sections make."""

import numpy as np
import polars as pl

from delightful.lab.quantities import Mean
from delightful.lab.tables import seeds_by_steps
from delightful.lab.verdicts import Measurement, NotMeasuredError, above, measured


def pg_and_dg(table: pl.DataFrame, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """`metric` of PG and of DG, each as (seeds, steps)."""
    if not {"pg", "dg"} <= set(table["method"].unique().to_list()):
        raise NotMeasuredError("it compares pg and dg, and one of them was not run")
    return seeds_by_steps(table, metric, method="pg"), seeds_by_steps(table, metric, method="dg")


def lower(above: np.ndarray, below: np.ndarray) -> Mean:
    """By how much `below` is lower, on the same seeds."""
    return Mean(np.asarray(above, float) - np.asarray(below, float))


THROUGHOUT = above(0, "PG − DG in the stretch of ten steps where it is smallest")


def lower_throughout(table: pl.DataFrame, metric: str) -> Measurement:
    """DG's `metric` below PG's in every stretch of ten steps: the quantity of THROUGHOUT."""
    pg, dg = pg_and_dg(table, metric)
    share = float(np.mean(dg.mean(0) < pg.mean(0)))
    note = f"over {pg.shape[1]} steps; DG's mean is the lower at {share:.0%} of them"
    return measured(Mean(smallest_stretch(pg - dg)), note=note)


def smallest_stretch(gaps: np.ndarray, window: int = 10) -> np.ndarray:
    """Each seed's mean over those `window` consecutive steps where the mean over seeds is smallest.

    Choosing the stretch by the same runs makes the claim harder to reproduce, not easier.
    """
    window = min(window, gaps.shape[1])
    means = np.lib.stride_tricks.sliding_window_view(gaps, window, axis=1).mean(-1)
    return np.asarray(means[:, int(np.argmin(means.mean(0)))])
