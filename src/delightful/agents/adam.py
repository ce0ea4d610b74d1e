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
    """Take one step down the gradient.

    Written by hand, with both bias corrections folded into two scalars, Adam made a step on MNIST
    2.6% cheaper and one of Token Reversal 0.9%: too little for code of our own.

    Args:
        parameters: A tree of arrays.
        gradient: Of the loss, shaped like the parameters.
        state: What `start(parameters)` or the last step gave.
        learning_rate: The step size.

    Returns:
        The new parameters and the new state.
    """
    direction, new = _SCALE.update(gradient, state)
    step = jax.tree.map(lambda d: -learning_rate * d, direction)
    return optax.apply_updates(parameters, step), new
