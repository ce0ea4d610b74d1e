"""Adam, as every experiment uses it, with its usual constants."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

_B1, _B2, _EPSILON = 0.9, 0.999, 1e-8


class Adam(NamedTuple):
    """What the optimiser remembers."""

    steps: jax.Array
    first: Any  # moment of the gradient, shaped like the parameters
    second: Any  # moment of its square


def start(parameters: Any) -> Adam:
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    return Adam(jnp.zeros((), jnp.float32), zeros, zeros)


def descend(
    parameters: Any, gradient: Any, state: Adam, learning_rate: float | jax.Array
) -> tuple[Any, Adam]:
    """One step down the gradient.

    The same numbers as optax.adam up to rounding. Own code, because both bias corrections are
    folded into two scalars here: one division per parameter in place of three, and on a CPU the
    divisions are what Adam costs.
    """
    steps = state.steps + 1
    first = jax.tree.map(lambda m, g: _B1 * m + (1 - _B1) * g, state.first, gradient)
    second = jax.tree.map(lambda v, g: _B2 * v + (1 - _B2) * g * g, state.second, gradient)
    root = jnp.sqrt(1 - _B2**steps)
    size, floor = learning_rate * root / (1 - _B1**steps), _EPSILON * root
    moved = jax.tree.map(
        lambda p, m, v: p - size * m / (jnp.sqrt(v) + floor), parameters, first, second
    )
    return moved, Adam(steps, first, second)
