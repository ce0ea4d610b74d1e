"""Comparisons of two methods that several sections make."""

import numpy as np
import polars as pl

from delightful.lab.experiment import Finding, NotMeasuredError, found
from delightful.lab.statistics import Estimate, bootstrap, bootstrap_difference
from delightful.lab.tables import seeds_by_steps

Gaps = dict[str, Estimate]
"""Differences by the name of the case, positive where the claim holds."""


def pg_and_dg(table: pl.DataFrame, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """`metric` of PG and of DG, each as (seeds, steps)."""
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


def lower(above: np.ndarray, below: np.ndarray) -> Estimate:
    """By how much `below` is lower, on the same seeds."""
    return bootstrap_difference(above, below, paired=True)


def narrowest(gaps: Gaps) -> str:
    """The case that is least certain to be positive: by the lower bound, or the value if none."""
    return min(gaps, key=lambda name: np.nan_to_num(gaps[name].low, nan=gaps[name].value))


def positive(gaps: Gaps) -> bool:
    """Whether every gap is clearly positive; with a single seed none is."""
    return all(gap.low > 0 for gap in gaps.values())


def listed(gaps: Gaps) -> str:
    """Every case with its gap, for a note."""
    return "; ".join(f"{name}: {gap}" for name, gap in gaps.items())
