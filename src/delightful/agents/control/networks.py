"""Initial weights of actor and critic, MLPs with two hidden layers; and the critic's value.

The actor's forward pass is `gaussian.policy`: actors run it without JAX.
"""

from typing import Any

import jax
import jax.numpy as jnp

from delightful.agents.control.config import ControlConfig
from delightful.agents.control.gaussian import Weights, linear, product, tanh_layer_norm


def initial_actor(key: jax.Array, config: ControlConfig, observed: int, actions: int) -> Weights:
    """Hidden layers of unit variance; outputs near a mean of 0 and `config.deviation`."""
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
    """Two hidden layers, and one value."""
    state, action, second, value = jax.random.split(key, 4)
    width, inputs = config.width, observed + actions
    return {
        # One layer in two parts: the state's is shared by all actions sampled there.
        "state": _layer(state, observed, width, inputs),
        "action": _layer(action, actions, width, inputs)["matrix"],
        "norm": _norm(width),
        "second": _layer(second, width, width),
        "value": _layer(value, width, 1),
    }


def value(critic: Weights, observation: Any, action: Any) -> Any:
    """The critic: Q(s, clip(a, −1, 1)), since the environment clips actions too.

    There is one action per state, or several along an extra axis after those of the states.
    """
    state = linear(critic["state"], observation)
    extra = action.ndim - observation.ndim
    state = state.reshape(state.shape[:-1] + (1,) * extra + state.shape[-1:])
    inputs = state + product(jnp.clip(action, -1, 1), critic["action"])
    hidden = tanh_layer_norm(jnp, critic["norm"], inputs)
    hidden = jnp.maximum(linear(critic["second"], hidden), 0)
    return linear(critic["value"], hidden)[..., 0]


def _layer(
    key: jax.Array, inputs: int, outputs: int, fan: int | None = None, gain: float = 2.0
) -> Weights:
    """Normal weights of variance gain/inputs; with ReLU, a gain of 2 keeps the variance."""
    matrix = jax.random.normal(key, (inputs, outputs)) * jnp.sqrt(gain / (fan or inputs))
    return {"matrix": matrix, "bias": jnp.zeros(outputs)}


def _norm(width: int) -> Weights:
    return {"scale": jnp.ones(width), "offset": jnp.zeros(width)}
