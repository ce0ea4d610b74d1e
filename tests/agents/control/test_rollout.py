"""What actors bring: rows as the environment gave them, whole episodes, the same ones again."""

import dataclasses

import numpy as np
import pytest

from delightful.agents.control import environments, learning, policy, rollout, training
from delightful.agents.control.rollout import Actors
from delightful.agents.control.transitions import CHUNK, Rows
from delightful.paper.control import sac


@pytest.fixture
def weights(small):
    return training.weights(learning.start(small, 0, 2, 1))


def joined(*chunks):
    return Rows(*(np.concatenate(parts) for parts in zip(*chunks, strict=True)))


def test_rows_follow_each_other_and_episodes_are_whole(small, weights):
    actors = Actors(small, 0)
    parts = [actors.collect(weights) for _ in range(3)]
    rows = joined(*(part[0] for part in parts))
    assert rows.observation.shape == (3 * CHUNK, 4, 2)
    time = rows.observation[..., 1]
    # 30 steps, the last observation, and again: its row is no step, and none is counted twice.
    expected = np.tile(np.arange(31) / 30, 9)[: 3 * CHUNK, None] + np.zeros(4)
    np.testing.assert_allclose(time, expected, atol=1e-6)
    np.testing.assert_array_equal(rows.valid, np.float32(expected < 1))
    np.testing.assert_array_equal(rows.reward[rows.valid == 0], 0)
    np.testing.assert_array_equal(rows.discount, 1)  # a time limit ends no task
    returns = [one for part in parts for one in part[1].returns]
    assert len(returns) == 4 * (3 * CHUNK // 31)
    assert returns[:4] == pytest.approx(rows.reward[:31].sum(0), rel=1e-5)


def test_log_densities_are_those_of_the_policy_that_acted(small, weights):
    rows, _ = Actors(small, 0).collect(weights)
    mean, deviation = policy.gaussian(small, weights, rows.observation)
    expected = policy.log_density(mean, deviation, rows.action)
    np.testing.assert_allclose(rows.log_prob, expected, rtol=1e-4, atol=1e-5)
    drawn, _ = Actors(small, 0).collect(None)
    np.testing.assert_allclose(drawn.log_prob, np.log(0.5))
    assert np.abs(drawn.action).max() <= 1


def test_the_end_of_a_task_is_told_from_a_time_limit(small):
    rows, _ = Actors(dataclasses.replace(small, task="gym:misbehaving:Ending-v0"), 3).collect(None)
    ended = rows.discount == 0
    assert ended.any()
    at, following = np.nonzero(ended[:-1])[0], rows.observation[1:][ended[:-1]]
    assert np.all(np.abs(following[:, 0]) > 1)
    assert np.all(rows.valid[at + 1, np.nonzero(ended[:-1])[1]] == 0)


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
    rows, episodes = restored.collect(weights)
    for one, other in zip(rows, third[0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert episodes == third[1]


def test_environments_are_made_anew_now_and_then(small, weights, monkeypatch):
    monkeypatch.setattr(rollout, "RESTART", 2)
    actors = Actors(small, 0)
    rows = [actors.collect(weights)[0] for _ in range(4)]
    assert np.all(rows[1].valid[-1] == 0)  # what would have followed is never seen
    assert np.all(rows[2].observation[0, :, 1] == 0)
    later = Actors(small, 0, chunk=2)
    for one, other in zip(later.collect(weights)[0], rows[2], strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_simulator_gone_wrong_is_reset_and_its_episode_dropped(small):
    actors = Actors(dataclasses.replace(small, task="gym:misbehaving:Exploding-v0"), 0)
    parts = [actors.collect(None) for _ in range(4)]
    assert sum(part[1].dropped for part in parts) > 0
    rows = joined(*(part[0] for part in parts))
    assert all(np.isfinite(array).all() for array in rows)
    # Every episode that begins before its time was up follows a row that is not learned from.
    begins = (rows.observation[1:, :, 1] == 0) & (rows.observation[:-1, :, 1] < 1)
    assert begins.any()
    assert np.all(rows.valid[:-1][begins] == 0)


def test_evaluation_is_of_whole_episodes(small, weights):
    mean, drawn, dropped = rollout.evaluate(small, 0, 1, weights)
    assert rollout.evaluate(small, 0, 1, weights) == (mean, drawn, dropped)
    assert dropped == 0
    assert 0 <= mean <= 30
    assert 0 <= drawn <= 30
    assert mean != drawn


@pytest.mark.filterwarnings("ignore:.*WARN")  # Gymnasium's, of the NaN
def test_an_episode_that_goes_wrong_is_left_out_of_an_evaluation(small):
    exploding = dataclasses.replace(small, task="gym:misbehaving:Exploding-v0")
    pool = environments.make(exploding.task, 8, 0)
    total, sound = environments.returns(pool, 8, lambda seen: np.sign(0.5 - seen[:, :1]) / 4 + 0.15)
    assert 0 < sound.sum() < 8
    assert environments.mean_return(total, sound) == total[sound].mean()
    assert environments.mean_return(total, sound & False) == total.mean()  # nothing else is known


def test_an_episode_of_sac_that_goes_wrong_is_cut_short(monkeypatch):
    task = sac.Task("cartpole:swingup", 0)
    task.reset()
    before = task.step(np.zeros(1))[0]
    for wrong in ((np.full(5, np.nan), 0.0, False, False), (np.zeros(5), np.nan, False, False)):
        monkeypatch.setattr(task._task, "step", lambda _, wrong=wrong: wrong)
        observation, reward, ended, cut, _ = task.step(np.zeros(1))
        np.testing.assert_array_equal(observation, before)
        assert (reward, ended, cut) == (0.0, False, True)
    assert task.dropped == 2
