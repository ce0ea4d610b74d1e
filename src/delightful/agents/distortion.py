"""Bugs, corrupted rewards and rare discoveries: which answers of a batch are hit."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from delightful.agents.frictions import Frictions


class Hits(NamedTuple):
    """Which answers of a batch are hit, each of shape (answers,)."""

    bug: jax.Array
    discovery: jax.Array
    corrupted: jax.Array
    reward: jax.Array  # what a corrupted one is replaced by

    @property
    def replaced(self) -> jax.Array:
        """Answers that no policy gave: their behaviour probability is 1."""
        return self.bug | self.discovery


def draw_hits(frictions: Frictions, key: jax.Array, answers: int) -> Hits:
    """Which answers of a batch are hit.

    Args:
        frictions: their probabilities; 0 never hits, 1 always does.
        key: the step's; the answers and ages that it decides too do not depend on the hits.
        answers: how many there are.

    Returns:
        The hits, independent of each other.
    """
    uniforms = jax.random.uniform(jax.random.fold_in(key, 2), (4, answers))
    return Hits(
        uniforms[0] < frictions.bugs,
        uniforms[1] < frictions.discovery,
        uniforms[2] < frictions.corruption,
        (uniforms[3] < 0.5).astype(jnp.float32),
    )
