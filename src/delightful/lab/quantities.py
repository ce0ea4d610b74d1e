"""Measured quantities: one number per seed, from which an interval of any confidence follows.

The check of a claim returns these, and the lab computes intervals at the confidence that it needs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from delightful.lab.statistics import Estimate, fieller, t_half_width, t_interval

Scores = NDArray[Any]
"""One number per seed."""

RARE = 0.1  # a run in ten that differs from the others must have had its chance to be seen


def seeds_to_trust(confidence: float) -> int:
    """How many equal scores count as certain, which have no spread to compute an interval from.

    With that many, a value that one run in ten takes would have been seen with this confidence.
    """
    return math.ceil(math.log(1 - confidence) / math.log(1 - RARE))


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
    sides: tuple[float, float] | None = None  # the two means that it is the difference of

    @property
    def seeds(self) -> int:
        return len(self.scores)

    def estimate(self, confidence: float) -> Estimate:
        """The mean with Student's interval; no bounds if scores are few and all the same."""
        if _equal(self.scores) and self.seeds < seeds_to_trust(confidence):
            return Estimate(float(np.mean(self.scores)), math.nan, math.nan)
        return t_interval(self.scores, confidence)

    def tells(self, threshold: float, seeds: int, confidence: float) -> bool:
        """Whether `seeds` seeds like these would put the interval on one side of the threshold."""
        if len(self.scores) < 2:
            return False
        if _equal(self.scores):
            return seeds >= seeds_to_trust(confidence)
        spread, distance = np.std(self.scores, ddof=1), abs(np.mean(self.scores) - threshold)
        return bool(t_half_width(float(spread), seeds, confidence) < distance)


@dataclass(frozen=True)
class Ratio:
    """The ratio of two means over the same seeds."""

    above: Scores
    below: Scores
    positive: bool = False  # whether neither mean can be below 0

    @property
    def seeds(self) -> int:
        return len(self.above)

    def estimate(self, confidence: float) -> Estimate:
        """The ratio with Fieller's interval; no bounds if scores are few and all the same."""
        if self._equal and self.seeds < seeds_to_trust(confidence):
            return fieller(self.above[:1], self.below[:1], confidence, positive=self.positive)
        return fieller(self.above, self.below, confidence, positive=self.positive)

    @property
    def _equal(self) -> bool:
        """Whether the ratio is the same for every seed, also as that of something to itself."""
        return _equal(self.above, self.below) or np.array_equal(self.above, self.below)

    def tells(self, threshold: float, seeds: int, confidence: float) -> bool:
        """As `Mean.tells`: a ratio is above r where the mean of above − r·below is above 0."""
        if self._equal and self.seeds > 1:
            return seeds >= seeds_to_trust(confidence)
        return Mean(self.above - threshold * self.below).tells(0.0, seeds, confidence)


@dataclass(frozen=True)
class Extreme:
    """The greatest or the least of several quantities, without knowing which that is.

    Picking the one that looks greatest and taking its own interval would be too sure: the same
    seeds would choose and judge. That some quantity is above a bound is shown at the confidence
    that is left when the error is shared among all; that none is, needs no sharing.
    """

    of: Sequence["Sampled"]
    sign: ClassVar[int]  # 1 for the greatest, −1 for the least

    @property
    def seeds(self) -> int:
        return min(one.seeds for one in self.of)

    def estimate(self, confidence: float) -> Estimate:
        """The extreme value. Of the greatest, low is the greatest low end, shared, and high the
        greatest high; of the least it is the reverse."""
        found = [self._turned(one.estimate(confidence)) for one in self.of]
        value = float(np.max([x.value for x in found]))  # NaN if one is
        lows = [self._turned(one.estimate(self._shared(confidence))).low for one in self.of]
        highs = [x.high for x in found]
        if np.isnan([*lows, *highs]).all():
            return self._turned(Estimate(value, math.nan, math.nan))
        # Where one has no bound, it may be anything.
        low = max(-math.inf if math.isnan(low) else low for low in lows)
        high = max(math.inf if math.isnan(high) else high for high in highs)
        return self._turned(Estimate(value, low, high))

    def tells(self, threshold: float, seeds: int, confidence: float) -> bool:
        """As `Mean.tells`: of the greatest, one must be above the threshold, or all below."""
        values = [one.estimate(confidence).value for one in self.of]
        beyond = [one for one, x in zip(self.of, values, strict=True) if self._beyond(x, threshold)]
        if beyond:
            shared = self._shared(confidence)
            return any(one.tells(threshold, seeds, shared) for one in beyond)
        return all(one.tells(threshold, seeds, confidence) for one in self.of)

    def _beyond(self, value: float, threshold: float) -> bool:
        return self.sign * value > self.sign * threshold

    def _shared(self, confidence: float) -> float:
        return 1 - (1 - confidence) / len(self.of)

    def _turned(self, found: Estimate) -> Estimate:
        """The estimate if this is the greatest, its mirror image if it is the least."""
        if self.sign > 0:
            return found
        return Estimate(-found.value, -found.high, -found.low)


class Greatest(Extreme):
    """The greatest of several quantities."""

    sign = 1


class Least(Extreme):
    """The least of several quantities."""

    sign = -1


@dataclass(frozen=True)
class Censored:
    """A quantity of runs that were stopped before what is counted in them had happened.

    They count with what they had reached, which says on one side only what the quantity is.
    """

    of: "Sampled"
    at_least: bool = False  # whether it is at least as much as was measured: no upper end is known
    at_most: bool = False  # whether it is at most as much: no lower end is known

    @property
    def seeds(self) -> int:
        return self.of.seeds

    def estimate(self, confidence: float) -> Estimate:
        """What was measured, with an interval whose unknown end is infinite."""
        found = self.of.estimate(confidence)
        low = -math.inf if self.at_most else found.low
        return Estimate(found.value, low, math.inf if self.at_least else found.high)

    def tells(self, threshold: float, seeds: int, confidence: float) -> bool:
        """As `Mean.tells`, if the end that faces the threshold is known."""
        above = self.of.estimate(confidence).value > threshold
        known = not (self.at_most if above else self.at_least)
        return known and self.of.tells(threshold, seeds, confidence)


Sampled = Mean | Ratio | Greatest | Least | Censored
"""What seeds were run for."""

Quantity = Exact | Sampled


def _equal(*scores: Scores) -> bool:
    return all(len(one) > 1 and np.ptp(one) == 0 for one in scores)
