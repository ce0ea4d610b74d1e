"""Normalised rewards; the targets themselves are tested with Retrace."""

import jax.numpy as jnp
import numpy as np
import pytest
from batches import some_transitions

from delightful.agents.control.config import ControlConfig
from delightful.agents.control.losses import (
    RewardStatistics,
    normalised_rewards,
    update_statistics,
)

CONFIG = ControlConfig(width=16, batch=40)


def test_rewards_are_normalised_and_terminal_values_shifted_with_them():
    rng = np.random.default_rng(0)
    transitions = some_transitions(rng)
    before = RewardStatistics(jnp.zeros(()), jnp.zeros(()))
    rewards = update_statistics(CONFIG, before, transitions, jnp.zeros((), jnp.int32))
    valid = np.asarray(transitions.valid) > 0
    seen = np.asarray(transitions.reward)[valid]
    assert rewards.mean == pytest.approx(seen.mean(), rel=1e-4)
    assert rewards.scale == pytest.approx(np.sqrt(np.mean(seen**2)), rel=1e-4)
    ended = transitions._replace(discount=transitions.discount.at[2].set(0))
    less = normalised_rewards(CONFIG, rewards, transitions)
    less -= normalised_rewards(CONFIG, rewards, ended)
    for_ever = CONFIG.discount / (1 - CONFIG.discount) * rewards.mean
    np.testing.assert_allclose(less[2], for_ever / rewards.scale, rtol=1e-3)
    assert not np.any(less[0])
