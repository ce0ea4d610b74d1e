"""Measured quantities: one number per seed, from which an interval of any confidence follows.

The check of a claim returns these, and the lab computes intervals at the confidence that it needs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from delightful.lab.statistics import Estimate, fieller, share_of, t_half_width, t_interval

Scores = NDArray[Any]
"""One number per seed."""


@dataclass(frozen=True)
class Exact:
    """A number that nothing was sampled for."""

    value: float
    seeds = math.inf  # it is as sure as it can be

    def estimate(self, _: float) -> Estimate:
        """The number, with an interval of no length."""
        return Estimate(float(self.value), float(self.value), float(self.value))


@dataclass(frozen=True)
class Mean:
    """The mean over seeds."""

    scores: Scores

    @property
    def seeds(self) -> int:
        return len(self.scores)

    def estimate(self, confidence: float) -> Estimate:
        """The mean with Student's interval."""
        return t_interval(self.scores, confidence)

    def tells(self, threshold: float, seeds: int, confidence: float) -> bool:
        """Whether `seeds` seeds like these would put the interval on one side of the threshold."""
        if len(self.scores) < 2:
            return False
        spread, distance = np.std(self.scores, ddof=1), abs(np.mean(self.scores) - threshold)
        return bool(t_half_width(float(spread), seeds, confidence) < distance)


@dataclass(frozen=True)
class Ratio:
    """The ratio of two means over the same seeds."""

    above: Scores
    below: Scores

    @property
    def seeds(self) -> int:
        return len(self.above)

    def estimate(self, confidence: float) -> Estimate:
        """The ratio with Fieller's interval."""
        return fieller(self.above, self.below, confidence)

    def tells(self, threshold: float, seeds: int, confidence: float) -> bool:
        """As `Mean.tells`: a ratio is above r where the mean of above − r·below is above 0."""
        return Mean(self.above - threshold * self.below).tells(0.0, seeds, confidence)


@dataclass(frozen=True)
class Share:
    """How many of some things, such as tasks, as if they had been drawn from many."""

    count: int
    total: int
    seeds = math.inf  # it is not the seeds that it is drawn from

    def estimate(self, confidence: float) -> Estimate:
        """The share with Clopper and Pearson's interval."""
        return share_of(self.count, self.total, confidence)


Quantity = Exact | Mean | Ratio | Share


def jackknife(statistic: Callable[..., float], *scores: Scores) -> Mean:
    """Any smooth statistic of arrays whose first axis is the seeds, as a mean of pseudo-values.

    The i-th is n·statistic(all) − (n − 1)·statistic(all but seed i) (Tukey 1958).
    """
    n = len(scores[0])
    if n == 1:
        return Mean(np.array([statistic(*scores)]))
    whole = statistic(*scores)
    left_out = [statistic(*(np.delete(x, i, axis=0) for x in scores)) for i in range(n)]
    return Mean(n * whole - (n - 1) * np.array(left_out))
