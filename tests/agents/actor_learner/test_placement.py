"""Shares of cores against brute force, and who is said to wait for a core."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delightful.agents.actor_learner.placement import NOBODY, UNITS, WAITING, Waiting, share
from delightful.lab.errors import LabError


def places(cores, units):
    return sum(UNITS * one // units for one in cores)


@given(st.lists(st.integers(1, 130), min_size=1, max_size=8), st.integers(1, 300))
def test_the_share_is_the_largest_with_which_every_actor_has_a_place(cores, actors):
    fits = (units for units in range(UNITS, 0, -1) if places(cores, units) >= actors)
    assert share(cores, actors) == next(fits) / UNITS


@pytest.mark.parametrize(
    ("cores", "actors", "expected"),
    [
        ([1, 1], 3, 0.5),  # not 2/3, with which each node has a place for one
        ([2], 3, 0.6666),
        ([2, 1], 3, 1.0),
        ([4, 4], 3, 1.0),
        ([1], 3, 0.3333),
    ],
)
def test_shares_that_can_be_checked_by_hand(cores, actors, expected):
    assert share(cores, actors) == expected


def test_an_actor_that_waits_is_named_once_for_each_start():
    waiting = Waiting()
    for actor in range(3):
        waiting.start(actor, 0.0)
    waiting.came(0, 5.0)
    assert waiting.overdue(5.0 + WAITING) == []  # another had its process meanwhile
    assert waiting.overdue(6.0 + WAITING) == [1, 2]
    said = "actors 1, 2 wait for a core: no process in 30 s; sampling starts once 0.5 core of a "
    assert waiting.sentence([1, 2], 0.5) == f"{said}node is free"
    assert waiting.sentence([1, 2], 0.5) == ""
    waiting.came(1, 50.0)
    waiting.start(2, 60.0)
    assert waiting.overdue(60.0 + WAITING) == []
    assert waiting.overdue(61.0 + WAITING) == [2]
    assert waiting.sentence([2], 1.0).startswith("actor 2 waits for a core: no process in 30 s; ")


def test_of_many_that_wait_five_are_named():
    said = Waiting().sentence(range(3, 64), 0.1)
    assert said.startswith("actors 3, 4, 5, 6, 7 and 56 more wait for a core: ")


def test_a_run_in_which_no_actor_ever_had_a_process_ends():
    waiting = Waiting()
    waiting.start(0, 0.0)
    waiting.start(1, 0.0)
    assert waiting.overdue(NOBODY) == [0, 1]
    with pytest.raises(LabError, match=r"^no actor has got a core in 10 minutes: .*\.$"):
        waiting.overdue(NOBODY + 1)
    waiting.came(0, NOBODY)
    assert waiting.overdue(9 * NOBODY) == [1]  # the others sample
