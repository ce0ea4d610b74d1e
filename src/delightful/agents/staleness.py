"""Actors with old parameters: a ring of past policies, and which of them acts.

The policy after v updates has version v. The ring has D + 1 places and holds the versions of the
last D + 1 updates; before training all of them are the initial policy.
"""

from typing import Any

import jax
import jax.numpy as jnp


def start(policy: Any, delay: int) -> Any:
    """A ring for actors that are at most `delay` updates old.

    Args:
        policy: the initial policy, a tree of arrays.
        delay: D.

    Returns:
        The policies, stacked along a first axis of length D + 1.
    """
    return jax.tree.map(lambda w: jnp.broadcast_to(w, (delay + 1, *w.shape)), policy)


def remember(past: Any, policy: Any, version: Any) -> Any:
    """Put the newest policy in the place of the oldest.

    Args:
        past: the ring.
        policy: the newest policy.
        version: its number of updates.

    Returns:
        The new ring.
    """

    def replaced(ring: jax.Array, w: jax.Array) -> Any:
        return jax.lax.dynamic_update_index_in_dim(ring, w, version % ring.shape[0], 0)

    return jax.tree.map(replaced, past, policy)


def recall(past: Any, version: Any, age: Any) -> Any:
    """The policy, or policies, of some age.

    Args:
        past: the ring.
        version: of the newest policy.
        age: in updates, at most D; a number, or an array for several policies.

    Returns:
        A policy; for an array of ages, policies stacked along a first axis.
    """
    return jax.tree.map(lambda ring: ring[(version - age) % ring.shape[0]], past)


def draw_ages(key: jax.Array, delay: int, actors: int) -> jax.Array:
    """An age for each actor, uniform over the last D + 1 updates.

    Args:
        key: the step's; what else it decides does not depend on the ages.
        delay: D.
        actors: N, how many there are.

    Returns:
        Whole numbers from 0 to D, (N,).
    """
    return jax.random.randint(jax.random.fold_in(key, 1), (actors,), 0, delay + 1)
