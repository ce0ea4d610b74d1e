"""Staleness: how many updates the learner made between sampling a batch and using it.

It is the learner's version when it uses a batch, less the version of the parameters that sampled
the batch. Versions are numbers that the learner gives out, so that no clock enters, and clocks that
disagree between nodes change nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


class Staleness:
    """Counts of staleness, overall and by actor."""

    def __init__(self, actors: int) -> None:
        self.counts: list[Counter[int]] = [Counter() for _ in range(actors)]

    def add(self, actor: int, staleness: int) -> None:
        """Count one batch that the learner uses."""
        self.counts[actor][staleness] += 1

    @property
    def overall(self) -> Counter[int]:
        """The counts of all actors together."""
        return sum(self.counts, Counter())

    def summary(self) -> dict[str, Any]:
        """Mean, quantiles, maximum and counts: overall, and of each actor."""
        return {**described(self.overall), "actors": [described(one) for one in self.counts]}

    def to_json(self) -> list[list[list[int]]]:
        """The counts as JSON, for a checkpoint."""
        return [sorted(map(list, counts.items())) for counts in self.counts]

    @classmethod
    def from_json(cls, stored: Iterable[Iterable[tuple[int, int]]]) -> "Staleness":
        """What `to_json` gave."""
        found = cls(0)
        found.counts = [Counter(dict(pairs)) for pairs in stored]
        return found


def described(counts: Mapping[int, int]) -> dict[str, Any]:
    """Mean, quantiles and maximum of counted values, and the counts; None where nothing was."""
    values = np.array(sorted(counts), dtype=np.int64)
    times = np.array([counts[value] for value in values.tolist()], dtype=np.int64)
    total = int(times.sum())
    if not total:
        return {"batches": 0, "mean": None, "p10": None, "p50": None, "p90": None, "max": None}
    ends = np.cumsum(times)

    def quantile(q: float) -> int:
        """The smallest value that at least a share q of the batches do not exceed."""
        return int(values[np.searchsorted(ends, q * total - 1e-9)])

    return {
        "batches": total,
        "mean": float(values @ times / total),
        **{f"p{round(100 * q)}": quantile(q) for q in (0.1, 0.5, 0.9)},
        "max": int(values[-1]),
        "counts": {str(value): counts[value] for value in values.tolist()},
    }
