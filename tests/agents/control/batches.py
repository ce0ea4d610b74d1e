"""Random transitions for tests of the losses."""

import jax.numpy as jnp

from delightful.agents.control.rollout import Transitions

SHAPE = (8, 5)  # time, sequences


def some_transitions(rng, observed=3, actions=2):
    time, sequences = SHAPE[0] + 1, SHAPE[1]

    def normal(*shape):
        return jnp.asarray(rng.normal(size=(time, sequences, *shape)), jnp.float32)

    one = jnp.ones((time, sequences))
    valid = one.at[3, 1].set(0).at[0, 2].set(0)
    return Transitions(normal(observed), normal(actions), -1 - normal() ** 2, normal(), one, valid)
