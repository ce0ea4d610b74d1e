"""Staleness: counts by actor, their summary against NumPy's, and their way through JSON."""

import json
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from delightful.agents.actor_learner import histogram
from delightful.agents.actor_learner.staleness import Staleness, described

VALUES = st.lists(st.integers(0, 50), min_size=1)


@given(VALUES)
def test_the_summary_is_that_of_the_values(values):
    found = described(Counter(values))
    assert found["batches"] == len(values)
    assert np.isclose(found["mean"], np.mean(values))
    assert found["max"] == max(values)
    for name, q in (("p10", 0.1), ("p50", 0.5), ("p90", 0.9)):
        assert found[name] == np.quantile(values, q, method="inverted_cdf")


def test_nothing_counted_is_no_number():
    assert described({})["mean"] is None


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=30))
def test_counts_survive_json(pairs):
    staleness = Staleness(3)
    for actor, value in pairs:
        staleness.add(actor, value)
    found = Staleness.from_json(json.loads(json.dumps(staleness.to_json())))
    assert found.counts == staleness.counts
    assert found.overall == Counter(value for _, value in pairs)


def test_the_histogram_is_drawn_whatever_the_counts():
    staleness = Staleness(3)
    empty = histogram.draw(staleness, "nothing yet")
    for value in (0, 1, 1, 2, 1000):
        staleness.add(1, value)
    drawn = histogram.draw(staleness, "one actor of three")
    assert empty.startswith(b"\x89PNG")
    assert drawn.startswith(b"\x89PNG")
    assert drawn == histogram.draw(staleness, "one actor of three")
    assert drawn != empty
