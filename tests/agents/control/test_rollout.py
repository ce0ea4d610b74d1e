"""What actors collect: transitions in order, whole episodes, and the same ones again."""

import dataclasses

import numpy as np
import pytest

from delightful.agents.control import rollout
from delightful.agents.control.config import CHUNK
from delightful.agents.control.gaussian import policy
from delightful.agents.control.rollout import Actors, Transitions


def joined(*chunks):
    return Transitions(*(np.concatenate(parts) for parts in zip(*chunks, strict=True)))


def test_transitions_follow_each_other_and_episodes_are_whole(small, weights):
    actors = Actors(small, 0)
    parts = [actors.collect(weights) for _ in range(3)]
    transitions = joined(*(part[0] for part in parts))
    assert transitions.observation.shape == (3 * CHUNK, 4, 2)
    time = transitions.observation[..., 1]
    # 30 steps, the last observation, and again: its entry is no step, and none is counted twice.
    expected = np.tile(np.arange(31) / 30, 9)[: 3 * CHUNK, None] + np.zeros(4)
    np.testing.assert_allclose(time, expected, atol=1e-6)
    np.testing.assert_array_equal(transitions.valid, np.float32(expected < 1))
    np.testing.assert_array_equal(transitions.reward[transitions.valid == 0], 0)
    np.testing.assert_array_equal(transitions.discount, 1)  # a time limit ends no task
    returns = [one for part in parts for one in part[1].returns]
    assert len(returns) == 4 * (3 * CHUNK // 31)
    assert returns[:4] == pytest.approx(transitions.reward[:31].sum(0), rel=1e-5)


def test_log_densities_are_those_of_the_policy_that_acted(small, weights):
    transitions, _ = Actors(small, 0).collect(weights)
    expected = policy(small, weights, transitions.observation).log_prob(transitions.action)
    np.testing.assert_allclose(transitions.log_prob, expected, rtol=1e-4, atol=1e-5)
    drawn, _ = Actors(small, 0).collect(None)
    np.testing.assert_allclose(drawn.log_prob, np.log(0.5))
    assert np.abs(drawn.action).max() <= 1


def test_the_end_of_a_task_is_told_from_a_time_limit(small):
    transitions, _ = Actors(
        dataclasses.replace(small, task="gym:misbehaving:Ending-v0"), 3
    ).collect(None)
    ended = transitions.discount == 0
    assert ended.any()
    at, following = np.nonzero(ended[:-1])[0], transitions.observation[1:][ended[:-1]]
    assert np.all(np.abs(following[:, 0]) > 1)
    assert np.all(transitions.valid[at + 1, np.nonzero(ended[:-1])[1]] == 0)


def test_what_was_done_can_be_done_again(small, weights):
    first = Actors(small, 0)
    for _ in range(2):
        first.collect(None)
    third = first.collect(weights)
    again = Actors(small, 0)
    history = [again.collect(None)[0].action for _ in range(2)]
    restored = Actors(small, 0)
    restored.restore(np.concatenate(history))
    assert restored.chunk == 2
    transitions, episodes = restored.collect(weights)
    for one, other in zip(transitions, third[0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert episodes == third[1]


def test_environments_are_made_again_now_and_then(small, weights, monkeypatch):
    monkeypatch.setattr(rollout, "RESTART", 2)
    actors = Actors(small, 0)
    transitions = [actors.collect(weights)[0] for _ in range(4)]
    assert np.all(transitions[1].valid[-1] == 0)  # what would have followed is never seen
    assert np.all(transitions[2].observation[0, :, 1] == 0)
    later = Actors(small, 0, chunk=2)
    for one, other in zip(later.collect(weights)[0], transitions[2], strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_simulator_that_gives_nan_is_reset_and_its_episode_dropped(small):
    actors = Actors(dataclasses.replace(small, task="gym:misbehaving:Exploding-v0"), 0)
    parts = [actors.collect(None) for _ in range(4)]
    assert sum(part[1].dropped for part in parts) > 0
    transitions = joined(*(part[0] for part in parts))
    assert all(np.isfinite(array).all() for array in transitions)
    # An episode that begins before the last one's time was up follows an invalid transition.
    begins = (transitions.observation[1:, :, 1] == 0) & (transitions.observation[:-1, :, 1] < 1)
    assert begins.any()
    assert np.all(transitions.valid[:-1][begins] == 0)
