"""Staleness drawn: a histogram of all batches, and one of each actor."""

from collections import Counter
from typing import Any

import numpy as np

from delightful.agents.actor_learner.staleness import Staleness, described
from delightful.lab import style

MOST = 30  # the last column: this staleness and more


def draw(staleness: Staleness, title: str) -> bytes:
    """Draw how stale the batches were that a run used.

    Args:
        staleness: the counts of the run.
        title: of the figure.

    Returns:
        A PNG. On the left, all batches. On the right a row for each actor: the shades are its
        histogram, the dot its mean.
    """
    overall = staleness.overall
    last = min(max(overall, default=0), MOST)
    with style.context():
        figure, (left, right) = style.panels(2, width=3.6, height=2.8)
        shares = _shares(overall, last)
        left.bar(range(last + 1), shares, width=0.9, color="#4477aa")
        left.set_ylim(top=1.25 * max(shares.max(), 0.01))  # with room for the legend
        left.set(ylabel="share of batches")
        found = described(overall)
        if found["mean"] is not None:
            label = f"mean {found['mean']:.2f}, 90% ≤ {found['p90']}, max {found['max']}"
            left.axvline(found["mean"], ymax=0.8, color="#cc3311", label=label)
        style.legend(left)
        rows = np.array([_shares(counts, last) for counts in staleness.counts])
        shown = right.imshow(rows, aspect="auto", cmap="Blues", vmin=0, interpolation="nearest")
        figure.colorbar(shown, ax=right, label="share of the actor's batches")
        for actor, counts in enumerate(staleness.counts):
            if counts:
                right.plot(min(described(counts)["mean"], last), actor, "o", color="#cc3311", ms=3)
        right.set(ylabel="actor")
        right.grid(visible=False)
        right.yaxis.get_major_locator().set_params(integer=True)
        for axis in (left, right):
            _label_staleness(axis, last, over=max(overall, default=0) > MOST)
        style.subtitle(figure, title)
        return style.images(figure)[0]


def _shares(counts: Counter[int], last: int) -> np.ndarray:
    """The share of each staleness up to `last`, which has all above it too."""
    shares = np.zeros(last + 1)
    for value, count in counts.items():
        shares[min(value, last)] += count
    return np.divide(shares, max(shares.sum(), 1))


def _label_staleness(axis: Any, last: int, *, over: bool) -> None:
    places = sorted({*range(0, last + 1, max(1, last // 6)), last})
    names = [f"≥{place}" if over and place == last else str(place) for place in places]
    axis.set_xticks(places, names)
    axis.set(xlabel="staleness (updates)", xlim=(-0.5, last + 0.5))
