"""Intervals that are honest at few seeds, and of medians."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A value and its interval, of 95% confidence unless another was asked for."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        # "#" keeps the zeros that are significant, but also a bare point, as in "123."
        value, low, high = (f"{v:#.3g}".rstrip(".") for v in (self.value, self.low, self.high))
        return f"{value} [{low}, {high}]"


def t_half_width(spread: float, n: int, confidence: float = 0.95) -> float:
    """Half of Student's interval: t·s/√n, with t of n − 1 degrees of freedom.

    Args:
        spread: s, the standard deviation with divisor n − 1.
        n: number of runs, at least 2.
        confidence: that the interval holds the true mean.

    Returns:
        t·s/√n.
    """
    return float(_quantile(n, confidence)) * spread / math.sqrt(n)


def t_interval(x: ArrayLike, confidence: float = 0.95) -> Estimate:
    """The mean of a few runs, with Student's interval: right for normal scores at any number.

    Args:
        x: one score per run.
        confidence: that the interval holds the true mean.

    Returns:
        x̄ ± t·s/√n with s² = Σ(x − x̄)²/(n − 1); NaN bounds for one run, which has no spread.
    """
    runs = _finite("x", x)
    centre = float(np.mean(runs))
    if runs.size == 1:
        return Estimate(centre, math.nan, math.nan)
    half = t_half_width(float(np.std(runs, ddof=1)), runs.size, confidence)
    return Estimate(centre, centre - half, centre + half)


def fieller(
    a: ArrayLike, b: ArrayLike, confidence: float = 0.95, *, positive: bool = False
) -> Estimate:
    """mean(a)/mean(b) of runs that share their seeds, with Fieller's interval.

    It holds every r for which Student's interval of a − r·b holds 0, so it is right for normal
    scores at any number of runs.

    Args:
        a: one score per run.
        b: the same, of the runs with the same seeds.
        confidence: that the interval holds the true ratio.
        positive: whether neither mean can be below 0, as of returns and errors.

    Returns:
        The ratio; bounds are infinite where mean(b) is not clearly other than 0, but for the lower
        one of positive means, and NaN for one run.
    """
    above, below = _finite("a", a), _finite("b", b)
    if above.shape != below.shape or above.ndim != 1:
        raise ValueError(f"a and b must be equally long, got {above.shape} and {below.shape}")
    n, top, base = above.size, float(np.mean(above)), float(np.mean(below))
    ratio = top / base if base else math.inf if positive and top > 0 else math.nan
    if n == 1:
        return Estimate(ratio, math.nan, math.nan)
    spread = np.cov(above, below) * float(_quantile(n, confidence)) ** 2 / n
    (aa, ab), (_, bb) = spread.tolist()
    # Roots of (base² − bb)·r² − 2(top·base − ab)·r + (top² − aa) = 0, between which r is held.
    lead, middle, last = base * base - bb, top * base - ab, top * top - aa
    if lead <= 0:
        low = _least_ratio(lead, middle, last) if positive else -math.inf
        return Estimate(ratio, low, math.inf)
    root = math.sqrt(max(0.0, middle * middle - lead * last))
    return Estimate(ratio, (middle - root) / lead, (middle + root) / lead)


def _least_ratio(lead: float, middle: float, last: float) -> float:
    """The least r ≥ 0 with lead·r² − 2·middle·r + last ≤ 0, where lead is not positive."""
    if last <= 0:
        return 0.0
    root = math.sqrt(middle * middle - lead * last)  # the roots have opposite signs
    if middle > 0:
        return last / (middle + root)
    return (middle - root) / lead if lead < 0 else math.inf


def median_interval(x: ArrayLike, confidence: float = 0.95) -> Estimate:
    """The median of independent measurements, with its exact interval: two of their order
    statistics, between which the true median lies whatever the distribution is.

    Args:
        x: the measurements; of fewer than 6 no two are 95% sure to enclose the median.
        confidence: of the interval, at least.

    Returns:
        The median; its bounds are infinite for too few measurements, and NaN for one.
    """
    runs = np.sort(_finite("x", x))
    value = float(np.median(runs))
    if runs.size == 1:
        return Estimate(value, math.nan, math.nan)
    from scipy.special import bdtr

    # Below the k-th smallest lie k of n coin tosses at most, with this probability.
    left = bdtr(np.arange(runs.size), runs.size, 0.5)
    k = int(np.searchsorted(left, (1 - confidence) / 2, side="right"))
    if k == 0:
        return Estimate(value, -math.inf, math.inf)
    return Estimate(value, float(runs[k - 1]), float(runs[runs.size - k]))


def _quantile(n: int, confidence: float) -> Any:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be within (0, 1), got {confidence}")
    from scipy.special import stdtrit

    return stdtrit(n - 1, (1 + confidence) / 2)


def _finite(name: str, x: ArrayLike) -> Floats:
    array = np.asarray(x, dtype=np.float64)
    if array.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {array.shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}")
    return array
