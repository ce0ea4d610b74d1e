"""Adam with its usual constants, as every trainer uses it: optax's, the learning rate traced."""

from typing import Any

import jax
import optax

Adam = Any  # optax.ScaleByAdamState; optax has no types
_SCALE = optax.scale_by_adam()

start = _SCALE.init


def descend(
    parameters: Any, gradient: Any, state: Adam, learning_rate: float | jax.Array
) -> tuple[Any, Adam]:
    """Take one step down the gradient of the loss; the new parameters and the new state."""
    direction, new = _SCALE.update(gradient, state)
    step = jax.tree.map(lambda d: -learning_rate * d, direction)
    return optax.apply_updates(parameters, step), new
