"""The critic, on single actions and on several at each state."""

import jax
import jax.numpy as jnp
import numpy as np

from delightful.agents.control import networks
from delightful.agents.control.config import ControlConfig

CONFIG = ControlConfig(width=16)
KEY = jax.random.key(0)


def test_the_critic_values_draws_as_it_values_single_actions():
    critic = networks.initial_critic(KEY, CONFIG, 5, 3)
    observation = jax.random.normal(KEY, (4, 6, 5))
    draws = jax.random.uniform(KEY, (4, 6, 8, 3), minval=-2, maxval=2)
    together = networks.value(critic, observation, draws)
    one_by_one = [networks.value(critic, observation, draws[:, :, k]) for k in range(8)]
    np.testing.assert_allclose(together, jnp.stack(one_by_one, -1), rtol=1e-4, atol=1e-5)


def test_an_action_beyond_the_bounds_is_worth_what_the_bound_is():
    critic = networks.initial_critic(KEY, CONFIG, 5, 3)
    observation = jax.random.normal(KEY, (6, 5))
    inside, beyond = jnp.ones((6, 3)), 3 * jnp.ones((6, 3))
    np.testing.assert_array_equal(
        networks.value(critic, observation, beyond), networks.value(critic, observation, inside)
    )
