"""The queue keeps the newest batches, and unusable batches are told from usable ones."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delightful.agents.actor_learner.protocols import Spec
from delightful.agents.actor_learner.queue import Batch, BatchQueue, problem

LAYOUT = {"action": Spec((2, 3), np.int32), "reward": Spec((None,), np.float32)}


@given(st.integers(1, 5), st.lists(st.integers(0, 3), max_size=20))
def test_the_newest_stay_in_order_and_every_dropped_one_is_counted(bound, actors):
    queue = BatchQueue(bound, 4)
    batches = [Batch(actor, version, {}) for version, actor in enumerate(actors)]
    for batch in batches:
        queue.put(batch)
    taken = iter(lambda: queue.take(0), None)
    assert list(taken) == batches[-bound:]
    dropped = [batch.actor for batch in batches[:-bound]]
    assert queue.dropped == {actor: dropped.count(actor) for actor in range(4)}


def test_a_waiting_learner_gets_a_batch_as_it_arrives():
    queue = BatchQueue(1, 1)
    batch = Batch(0, 7, {})
    threading.Timer(0.05, queue.put, [batch]).start()
    assert queue.take(30) is batch
    assert queue.take(0.01) is None
    assert not queue.dropped.total()


def usable():
    return {"action": np.zeros((2, 3), np.int32), "reward": np.ones(5, np.float32)}


def test_a_usable_batch_has_no_problem():
    assert problem(LAYOUT, usable()) == ""


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"action": np.zeros((2, 4), np.int32)}, "action has shape (2, 4), not (2, 3)"),
        ({"action": np.zeros(6, np.int32)}, "action has shape (6,), not (2, 3)"),
        ({"reward": np.ones((5, 1), np.float32)}, "reward has shape (5, 1), not (any,)"),
        ({"reward": np.ones(5)}, "reward has dtype float64, not float32"),
        ({"reward": np.array([1, np.nan], np.float32)}, "reward has NaN or infinite values"),
        ({"reward": np.array([1, np.inf], np.float32)}, "reward has NaN or infinite values"),
        ({"more": np.ones(1)}, "it has action, reward, more, not action, reward"),
    ],
)
def test_what_is_wrong_with_a_batch_is_named(changed, said):
    assert problem(LAYOUT, {**usable(), **changed}) == said


def test_what_is_no_batch_is_named():
    assert "not action, reward" in problem(LAYOUT, {})
    assert "not action, reward" in problem(LAYOUT, [1, 2])


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2"])
def test_short_floats_are_checked_too(name, value):
    dtype = getattr(pytest.importorskip("ml_dtypes"), name)
    batch = {"reward": np.array([1, value], dtype)}
    found = problem({"reward": Spec((None,), dtype)}, batch)
    assert found == "reward has NaN or infinite values"


def test_a_structured_array_has_no_values_to_check():
    dtype = np.dtype([("x", np.float32)])
    assert problem({"pair": Spec((2,), dtype)}, {"pair": np.zeros(2, dtype)}) == ""
