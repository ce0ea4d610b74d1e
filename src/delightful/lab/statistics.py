"""The statistics of reinforcement-learning experiments, each with an interval.

Scores have the shape (runs,) or (runs, tasks). But for `t_interval`, the intervals are stratified
percentile bootstraps: runs are drawn with replacement within each task, independently of the other
tasks (Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice").
They are too narrow for few runs: the nominal 95% for the mean of normal scores covers about 84%
at 5 runs, 90% at 10 and 94% at 30. Of a single run the interval is NaN.
"""

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, stdtrit

Floats = NDArray[np.float64]
Axis = int | tuple[int, ...] | None
Statistic = Callable[..., Any]
"""A reduction such as `iqm` or `np.median`, called once for many resamples with axis=(-2, -1)."""

BLOCK = 2**20  # entries resampled at a time: bounds the memory whatever the number of runs


class Options(TypedDict, total=False):  # what every bootstrap takes, by keyword
    resamples: int  # 2000 by default
    confidence: float  # 0.95 by default
    seed: int  # 0 by default; equal seeds give equal intervals


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


@dataclass(frozen=True)
class PowerLaw:
    """y = coefficient · x^exponent."""

    exponent: Estimate
    coefficient: Estimate


def mean(x: ArrayLike, axis: Axis = 0) -> Any:
    """The arithmetic mean over `axis`."""
    return np.mean(_entries("x", x, axis), axis=-1)


def standard_error(x: ArrayLike, axis: Axis = 0) -> Any:
    """The standard error of the mean over `axis`, s/√n with s² = Σ(x − x̄)² / (n − 1).

    NaN for n = 1: one entry has no spread.
    """
    entries = _entries("x", x, axis)
    n = entries.shape[-1]
    if n == 1:  # NumPy would warn of 0/0
        return np.mean(entries, axis=-1) * np.nan
    return np.std(entries, axis=-1, ddof=1) / math.sqrt(n)


def t_interval(x: ArrayLike, confidence: float = 0.95) -> Estimate:
    """The mean of a few runs, with Student's interval: right for normal scores at any number.

    NaN for one run: one run has no spread.
    """
    entries = _entries("x", x, None)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be within (0, 1), got {confidence}")
    centre = float(np.mean(entries))
    if entries.size == 1:
        return Estimate(centre, math.nan, math.nan)
    half = float(stdtrit(entries.size - 1, (1 + confidence) / 2) * standard_error(entries))
    return Estimate(centre, centre - half, centre + half)


def share_of(count: int, total: int, confidence: float = 0.95) -> Estimate:
    """`count` of `total` as a share, with Clopper and Pearson's interval: exact for any number."""
    if not 0 <= count <= total or total < 1:
        raise ValueError(f"count must lie between 0 and total, got {count} of {total}")
    tail = (1 - confidence) / 2
    low = float(betaincinv(count, total - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, total - count, 1 - tail)) if count < total else 1.0
    return Estimate(count / total, low, high)


def iqm(scores: ArrayLike, axis: Axis = None) -> Any:
    """The interquartile mean over `axis`, by default over all entries (Agarwal et al. 2021).

    As `scipy.stats.trim_mean(scores, 0.25)`: of n, the ⌊n/4⌋ lowest and highest are left out.
    """
    entries = _entries("scores", scores, axis)
    cut = entries.shape[-1] // 4
    ordered = np.partition(entries, (cut, -1 - cut), axis=-1)  # in part, which is all it takes
    return np.mean(ordered[..., cut : entries.shape[-1] - cut], axis=-1)


def bootstrap(scores: ArrayLike, statistic: Statistic = mean, **how: Unpack[Options]) -> Estimate:
    """`statistic` of all `scores`, with its stratified bootstrap interval."""
    return _percentile(lambda x: statistic(x, axis=(-2, -1)), *_admit(scores=scores), **how)


def bootstrap_difference(
    a: ArrayLike,
    b: ArrayLike,
    statistic: Statistic = mean,
    *,
    paired: bool = False,
    **how: Unpack[Options],
) -> Estimate:
    """statistic(a) − statistic(b) on the same tasks, with its stratified bootstrap interval.

    `paired` draws run i of `a` and run i of `b` together, as is right if they share a seed.
    """
    arrays = _admit(paired, a=a, b=b)

    def difference(*drawn: Floats) -> Any:
        a, b = np.moveaxis(drawn[0], -1, 0) if paired else drawn
        return statistic(a, axis=(-2, -1)) - statistic(b, axis=(-2, -1))

    # Pairs are drawn as the entries of one array.
    return _percentile(difference, *([np.stack(arrays, axis=-1)] if paired else arrays), **how)


def bootstrap_ratio(a: ArrayLike, b: ArrayLike, **how: Unpack[Options]) -> Estimate:
    """mean(a) / mean(b) of runs that share their seeds, with its stratified bootstrap interval."""

    def ratio(drawn: Floats) -> Any:
        means = np.mean(drawn, axis=(-3, -2))
        with np.errstate(divide="ignore", invalid="ignore"):  # a mean of 0 below is no error
            return means[..., 0] / means[..., 1]

    return _percentile(ratio, np.stack(_admit(True, a=a, b=b), axis=-1), **how)


def probability_of_improvement(x: ArrayLike, y: ArrayLike, **how: Unpack[Options]) -> Estimate:
    """P(X > Y) + ½ P(X = Y) for a run of `x` and one of `y`, averaged over the tasks.

    Agarwal et al. 2021; per task it is Mann and Whitney's U over the number of pairs of runs.
    """

    def wins(x: Floats, y: Floats) -> Any:
        # One run of x at a time, so that memory grows with the runs and not with their pairs.
        each = (x[:, i : i + 1] for i in range(x.shape[1]))
        return sum(np.mean((e > y) + 0.5 * (e == y), axis=(1, 2)) for e in each) / x.shape[1]

    return _percentile(wins, *_admit(x=x, y=y), **how)


def power_law(x: ArrayLike, y: ArrayLike, **how: Unpack[Options]) -> PowerLaw:
    """The least-squares line log y = log c + k log x, for `y` of the shape (runs, len(x)).

    Runs are drawn at each x independently. The intervals presume the law and do not test it.
    """
    at, runs = _finite("x", x), _finite("y", y)
    if at.ndim != 1 or runs.ndim != 2 or len(runs) < 2 or runs.shape[1] != at.size:
        raise ValueError(f"y must be (runs >= 2, len(x)), got {runs.shape} for x of {at.shape}")
    for name, least in (("x", np.min(at)), ("y", np.min(runs))):
        if least <= 0:
            raise ValueError(f"{name} must be positive for a power law, got {least}")
    log_x, log_y = np.log(at), np.log(runs)
    if np.ptp(log_x) == 0:
        raise ValueError(f"x must hold at least two distinct values, got only {at[0]}")
    slope, intercept = np.linalg.pinv(np.stack([log_x, np.ones_like(log_x)], axis=1))

    def fit(weights: Floats) -> Estimate:
        # Every x has equally many runs, so fitting their means is fitting them all.
        return _percentile(lambda v: np.mean(v, axis=1) @ weights, log_y, **how)

    c = np.exp(astuple(fit(intercept)))
    return PowerLaw(exponent=fit(slope), coefficient=Estimate(*c.tolist()))


def _percentile(
    of: Statistic, *arrays: Floats, resamples: int = 2000, confidence: float = 0.95, seed: int = 0
) -> Estimate:
    """`of` the arrays, (runs, tasks, ...), with its percentile bootstrap interval (Efron 1979)."""
    if resamples < 1 or not 0 < confidence < 1:
        got = f"{resamples=} and {confidence=}"
        raise ValueError(f"resamples must be positive and confidence within (0, 1), got {got}")
    value = np.asarray(of(*(x[None] for x in arrays)))
    if value.shape != (1,):
        raise ValueError(f"statistic must reduce (1, runs, tasks) to (1,), got {value.shape}")
    if min(map(len, arrays)) == 1:  # every resample is the same: an interval of length 0
        return Estimate(float(value[0]), math.nan, math.nan)
    rng = np.random.default_rng(seed)
    block = max(1, BLOCK // sum(x.size for x in arrays))
    replicates = []
    for done in range(0, resamples, block):
        n = min(block, resamples - done)
        picks = ((x, rng.integers(len(x), size=(n, *x.shape[:2]))) for x in arrays)
        replicates.append(of(*(x[pick, np.arange(x.shape[1])] for x, pick in picks)))
    half = confidence / 2
    low, high = np.quantile(np.concatenate(replicates), [0.5 - half, 0.5 + half])
    return Estimate(float(value[0]), float(low), float(high))


def _admit(paired: bool = False, **named: ArrayLike) -> list[Floats]:
    """The arrays as (runs, tasks), checked to have the same tasks and, if `paired`, runs."""
    arrays = []
    for name, x in named.items():
        array = _finite(name, x)
        if array.ndim not in (1, 2):
            raise ValueError(f"{name} must have shape (runs,) or (runs, tasks), got {array.shape}")
        arrays.append(array.reshape(len(array), -1))
    if len({array.shape[0 if paired else 1 :] for array in arrays}) > 1:
        shapes = {name: np.shape(x) for name, x in named.items()}
        raise ValueError(f"tasks, and runs if paired, must be equally many, got {shapes}")
    return arrays


def _entries(name: str, x: ArrayLike, axis: Axis) -> Floats:
    """The entries along `axis`, moved to one last axis."""
    array = _finite(name, x)
    axes = normalize_axis_tuple(range(array.ndim) if axis is None else axis, array.ndim)
    moved = np.moveaxis(array, axes, range(-len(axes), 0))
    return moved.reshape(*moved.shape[: array.ndim - len(axes)], -1)


def _finite(name: str, x: ArrayLike) -> Floats:
    array = np.asarray(x, dtype=np.float64)
    if array.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {array.shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}")
    return array
