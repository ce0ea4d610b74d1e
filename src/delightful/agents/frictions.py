"""What can go wrong between actors and the learner: bugs, corrupted rewards, rare discoveries.

Each is a probability that an answer, or action, is hit, independently of the others. Old
parameters, the fourth friction, are in `staleness`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from delightful.lab.config import chosen, require


@dataclass(frozen=True)
class Frictions:
    """The fields that a config with frictions has beside its own."""

    bugs: float = chosen(
        0.0, "probability that an answer is replaced by zeros, as a broken actor would send them"
    )
    corruption: float = chosen(
        0.0, "probability that a reward is replaced by 0 or 1, each as likely as the other"
    )
    discovery: float = chosen(
        0.0,
        "probability that the correct answer is put in; it also takes the place of a bug, as the "
        "order of the two is not stated",
    )


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


def check_frictions(frictions: Frictions) -> None:
    """Refuse what is not a probability.

    Args:
        frictions: a config with these fields.

    Raises:
        ValueError: with the field and its value.
    """
    for name in ("bugs", "corruption", "discovery"):
        value = getattr(frictions, name)
        require(0 <= value <= 1, f"{name} must be a probability, from 0 to 1", value)


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
