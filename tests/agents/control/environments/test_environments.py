"""Environments: episodes, seeds, bounds, and what is refused, whatever steps them."""

import numpy as np
import pytest

from delightful.agents.control import environments
from delightful.agents.control.environments import gym, make, suite, task_seed, vector
from delightful.agents.control.environments.scaling import ActionScaling
from delightful.lab.errors import LabError

pytest.importorskip("envpool", reason="needs EnvPool")
pytest.importorskip("dm_control.suite", reason="needs the control extra")
gymnasium = pytest.importorskip("gymnasium", reason="needs the control extra")

ENGINES = ("envpool", "dm_control")


@pytest.mark.parametrize("engine", ENGINES)
def test_episodes_are_of_a_thousand_steps_and_are_then_reset(engine):
    """A point mass stands still only where its episode begins."""
    envs, rng = make("point_mass:easy", 2, 0, engine=engine), np.random.default_rng(0)
    envs.reset()
    for time in range(1, 1402):
        step = envs.step(rng.uniform(-1, 1, (2, 2)))
        assert not step.terminated.any()
        assert list(step.truncated) == [time == 1000, time == 1400]
        assert list(np.all(step.observation[:, 2:] == 0, axis=1)) == [time == 1001, False]
        assert time != 1001 or step.reward[0] == 0
        if time in (400, 1400):  # in the midst of an episode, and at its end
            assert np.all(envs.reset_one(1)[2:] == 0)


KINDS = pytest.mark.parametrize(
    ("task", "engine"),
    [*(("pendulum:swingup", engine) for engine in ENGINES), ("gym:Pendulum-v1", "")],
)


def walked(envs, steps=5):
    """First observations, and what follows on given actions."""
    action = np.random.default_rng(0).uniform(-1, 1, (steps, 2, envs.actions))
    return [envs.reset(), *(step for now in action for step in envs.step(now))]


@KINDS
def test_a_seed_repeats_to_the_byte(task, engine):
    one, again, other = (walked(make(task, 2, seed, engine=engine)) for seed in (0, 0, 10))
    assert [array.tobytes() for array in one] == [array.tobytes() for array in again]
    starts = np.concatenate([one[0], other[0]])
    assert len(np.unique(starts, axis=0)) == 4


@KINDS
def test_one_environment_is_reset_alone(task, engine):
    envs, twin = (make(task, 2, 0, engine=engine) for _ in range(2))
    before, _ = (walked(one)[-4] for one in (envs, twin))
    first = envs.reset_one(1)
    assert first.dtype == np.float32
    assert first.shape == (envs.observed,)
    assert not np.array_equal(first, before[1])
    ours, theirs = (one.step(np.full((2, 1), 0.3)).observation for one in (envs, twin))
    np.testing.assert_array_equal(ours[0], theirs[0])
    assert not np.array_equal(ours[1], theirs[1])
    assert np.abs(ours[1] - first).max() < np.abs(ours[1] - theirs[1]).max()


@pytest.mark.parametrize("engine", ENGINES)
def test_bounds_without_meaning_are_none(engine):
    """The linear-quadratic regulator's are of 10¹⁰; its reward tells what was done."""
    envs, action = make("lqr:lqr_2_1", 1, 0, engine=engine), np.full((1, 1), -0.7)
    envs.reset()
    step = envs.step(action)
    spent = 0.5 * np.sum(step.observation[0, :2] ** 2) + 0.1 * 0.5 * 0.7**2
    assert step.reward[0] == pytest.approx(1 - spent, abs=1e-6)


def test_a_bound_on_one_side_is_kept():
    space = gymnasium.spaces.Box(np.array([0, -np.inf]), np.array([np.inf, 3]), dtype=np.float64)
    scale = ActionScaling(space)
    assert [scale(np.full(2, end)).tolist() for end in (-1, 0, 1)] == [[0, 1], [1, 2], [2, 3]]


def test_gymnasiums_bounds_are_reached():
    """Torques of up to 2; what is beyond 1 is cut."""
    envs, own = make("gym:Pendulum-v1", 1, 5), gymnasium.make("Pendulum-v1")
    np.testing.assert_array_equal(envs.reset()[0], own.reset(seed=task_seed(5, 0))[0])
    for action, torque in ((1, 2), (-0.5, -1), (0, 0), (3, 2)):
        step = envs.step(np.full((1, 1), action, np.float32))
        observation, reward, *_ = own.step(np.array([torque], np.float32))
        np.testing.assert_array_equal(step.observation[0], observation)
        assert step.reward[0] == np.float32(reward)


def test_observations_in_parts_are_joined():
    envs = make("gym:misbehaving:InParts-v0", 1, 0)
    assert envs.observed == 3
    first = envs.reset()[0]
    np.testing.assert_array_equal(first[:2], [1, 0])
    for _ in range(15):
        step = envs.step(np.ones((1, 1), np.float32))
    np.testing.assert_allclose(step.observation[0], [0, 1, first[2] + 15 * 0.2], rtol=1e-6)


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        ("gym:Pendulumm-v1", "'Pendulumm-v1': did you mean Pendulum-v1"),
        ("gym:Pendulum-v99", "gym:Pendulum-v99 cannot be made"),
        ("gym:nowhere:Pendulum-v1", "gym:nowhere:Pendulum-v1 cannot be made"),
        ("gym:CartPole-v1", r"Discrete actions; only continuous \(Box\).*gym:Pendulum-v1"),
        ("gym:misbehaving:OfAnyLength-v0", "Sequence observations; only those of a fixed length"),
    ],
)
def test_gymnasium_tasks_that_cannot_be_had(task, sentence):
    with pytest.raises(LabError, match=sentence):
        make(task, 1, 0)


def test_what_is_missing_can_be_installed(monkeypatch):
    for module in (environments, gym, suite):
        monkeypatch.setattr(module, "find_spec", lambda _: None)
    for task in ("cheetah:run", "gym:Pendulum-v1"):
        with pytest.raises(LabError, match=r"pip install '\.\[control\]'"):
            make(task, 1, 0)


def test_envpool_is_taken_where_it_is_installed(monkeypatch):
    assert not isinstance(make("pendulum:swingup", 1, 0), vector.Sequential)
    monkeypatch.setattr(environments, "find_spec", lambda name: None if name == "envpool" else name)
    assert isinstance(make("pendulum:swingup", 1, 0), vector.Sequential)
