"""By how much one method is ahead of others, in several cases at once."""

import numpy as np

from delightful.lab.statistics import Estimate, bootstrap_difference


def lower(above: np.ndarray, below: np.ndarray) -> Estimate:
    """By how much `below` is lower, on the same seeds."""
    return bootstrap_difference(above, below, paired=True)


def narrowest(gaps: dict[str, Estimate]) -> str:
    """Where a gap is least certain to be positive: by the interval's lower end, if it has one."""
    return min(gaps, key=lambda name: np.nan_to_num(gaps[name].low, nan=gaps[name].value))


def positive(gaps: dict[str, Estimate]) -> bool:
    """Whether every gap is clearly positive; of a single seed none is."""
    return all(gap.low > 0 for gap in gaps.values())


def listed(gaps: dict[str, Estimate]) -> str:
    return "; ".join(f"{name}: {gap}" for name, gap in gaps.items())
