"""Actor and critic: MLPs with two hidden layers. The policy itself is in `policy`."""

from typing import Any

import jax
import jax.numpy as jnp

from delightful.agents.control.config import ControlConfig
from delightful.agents.control.policy import Weights, apply, normed, product


def initial_actor(key: jax.Array, config: ControlConfig, observed: int, actions: int) -> Weights:
    """Hidden layers of unit variance; outputs near a mean of 0 and the first deviation."""
    first, second, mean, spread = jax.random.split(key, 4)
    width = config.width
    return {
        "first": _layer(first, observed, width),
        "norm": _norm(width),
        "second": _layer(second, width, width),
        "mean": _layer(mean, width, actions, gain=0.01),
        "spread": _layer(spread, width, actions, gain=0.01),
    }


def initial_critic(key: jax.Array, config: ControlConfig, observed: int, actions: int) -> Weights:
    state, action, second, value = jax.random.split(key, 4)
    width, inputs = config.width, observed + actions
    return {
        # One layer, in two parts: that of the state is the same for all actions drawn there.
        "state": _layer(state, observed, width, inputs),
        "action": _layer(action, actions, width, inputs)["matrix"],
        "norm": _norm(width),
        "second": _layer(second, width, width),
        "value": _layer(value, width, 1),
    }


def value(critic: Weights, observation: Any, action: Any) -> Any:
    """Q(s, a); actions may have more axes, of draws, after those of the observation.

    An action beyond the bounds is what the environment makes of it: the bound.
    """
    state = apply(critic["state"], observation)
    extra = action.ndim - observation.ndim
    state = state.reshape(state.shape[:-1] + (1,) * extra + state.shape[-1:])
    hidden = normed(jnp, critic["norm"], state + product(jnp.clip(action, -1, 1), critic["action"]))
    hidden = jnp.maximum(apply(critic["second"], hidden), 0)
    return apply(critic["value"], hidden)[..., 0]


def divergence(old_mean: Any, old_deviation: Any, mean: Any, deviation: Any) -> tuple[Any, Any]:
    """KL(old ‖ policy) of diagonal Gaussians, in two parts: what moving the mean alone would cost,
    and what changing the deviation alone would."""
    ratio = old_deviation / deviation
    moved = (mean - old_mean) / old_deviation
    changed = 0.5 * (ratio**2 - 1) - jnp.log(ratio)
    return jnp.sum(0.5 * moved**2, axis=-1), jnp.sum(changed, axis=-1)


def _layer(
    key: jax.Array, inputs: int, outputs: int, fan: int | None = None, gain: float = 2.0
) -> Weights:
    """Normal weights of variance gain/inputs: 2 keeps the size of what ReLU halves."""
    matrix = jax.random.normal(key, (inputs, outputs)) * jnp.sqrt(gain / (fan or inputs))
    return {"matrix": matrix, "bias": jnp.zeros(outputs)}


def _norm(width: int) -> Weights:
    return {"scale": jnp.ones(width), "offset": jnp.zeros(width)}
