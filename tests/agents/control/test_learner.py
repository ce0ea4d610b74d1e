"""The learner: a task whose answer is known, targets, and updates that are not finite."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from delightful.agents.control import replay
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.gaussian import policy
from delightful.agents.control.learner import MEASURED, initial, learn
from delightful.agents.control.rollout import Transitions
from delightful.agents.control.settings import configured

METHODS = ("pg", "dg", "ppo", "mpo")


def memory_of(rng, slots, reward, actions=1):
    """A task of one state, which goes on for ever."""
    action = rng.uniform(-1, 1, (slots, 2, actions)).astype(np.float32)
    one = np.ones((slots, 2), np.float32)
    transitions = Transitions(
        np.ones((slots, 2, 3), np.float32),
        action,
        np.full((slots, 2), -actions * np.log(2), np.float32),
        reward(action).astype(np.float32),
        one,
        one,
    )
    return replay.Replay(Transitions(*map(jnp.asarray, transitions)), jnp.asarray(slots, jnp.int32))


def trained_mean(method, reading):
    """The mean action, from 0, after learning where 0.4 is best and actions of [−1, 1] are replayed
    for ever; and the diagnostics."""
    config = configured(method, reading, width=16, batch=64, learning_rate=1e-3, target_period=20)
    memory = memory_of(np.random.default_rng(0), 800, lambda a: 1 - (a[..., 0] - 0.4) ** 2)
    state, means = learn(config, initial(config, 0, 3, 1), memory, 0, 1500)
    mean, _ = policy(config, state.actor, jnp.ones((1, 3)))
    assert set(means) == set(MEASURED)
    assert means["skipped"] == 0
    return float(mean[0, 0])


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_with_fresh_draws_every_method_finds_the_best_action(method):
    # Draws beyond 1 are clipped to it, so the best mean lies a little above 0.4.
    assert trained_mean(method, "fresh") == pytest.approx(0.45, abs=0.15)


@pytest.mark.slow
def test_of_replayed_actions_old_failures_push_pg_to_the_bound_and_not_the_others():
    means = {method: trained_mean(method, "replayed") for method in METHODS}
    assert means.pop("pg") > 0.95  # no ratio, gate or softmax ever lets go of a failure
    assert all(abs(mean - 0.4) < 0.35 for mean in means.values()), means


def test_targets_follow_every_so_often():
    config = ControlConfig(width=16, batch=64, target_period=4)
    memory = memory_of(np.random.default_rng(0), 800, lambda a: a[..., 0])
    state = initial(config, 0, 3, 1)
    before = state.target_critic["value"]["matrix"]
    state, _ = learn(config, state, memory, 0, 3)
    np.testing.assert_array_equal(state.target_critic["value"]["matrix"], before)
    state, _ = learn(config, state, memory, 0, 1)
    for target, network in (("target_critic", "critic"), ("target_actor", "actor")):
        found, expected = (jax.tree.leaves(getattr(state, name)) for name in (target, network))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_an_update_that_is_not_finite_is_skipped_and_counted():
    config = ControlConfig(width=16, batch=64)
    memory = memory_of(np.random.default_rng(0), 800, lambda a: np.full(a.shape[:-1], 1e38))
    state = initial(config, 0, 3, 1)
    after, means = learn(config, state, memory, 0, 5)
    assert means["skipped"] == 1
    assert all(np.isfinite(x).all() for x in jax.tree.leaves((after.actor, after.critic)))
