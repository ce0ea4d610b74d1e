"""Actor and critic: MLPs with two hidden layers, as plain functions of their weights."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from delightful.experiments.control.config import ControlConfig

Weights = dict[str, Any]

_LOG_2PI = float(np.log(2 * np.pi))
_EPSILON = 1e-6


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


def policy(config: ControlConfig, actor: Weights, observation: Any) -> tuple[Any, Any]:
    """Mean and standard deviation of the Gaussian at each state, for JAX and NumPy alike.

    The mean is bounded by tanh: where it could leave the actions' bounds it would, every draw would
    be clipped to the same action, and with all advantages 0 it would never come back.
    """
    xp = jnp if isinstance(observation, jax.Array) else np
    hidden = _normed(xp, actor["norm"], _apply(actor["first"], observation))
    hidden = xp.maximum(_apply(actor["second"], hidden), 0)
    spread = _apply(actor["spread"], hidden) + first_spread(config)
    room = config.most_deviation - config.least_deviation
    deviation = config.least_deviation + room / (1 + xp.exp(-spread))
    return xp.tanh(_apply(actor["mean"], hidden)), deviation


def first_spread(config: ControlConfig) -> Any:
    """What the deviation's sigmoid is given at first, to start at `deviation`."""
    share = (config.deviation - config.least_deviation) / (
        config.most_deviation - config.least_deviation
    )
    return -math.log(1 / share - 1) if isinstance(share, float) else -jnp.log(1 / share - 1)


def value(critic: Weights, observation: Any, action: Any) -> Any:
    """Q(s, a); actions may have more axes, of draws, after those of the observation.

    An action beyond the bounds is what the environment makes of it: the bound.
    """
    state = _apply(critic["state"], observation)
    extra = action.ndim - observation.ndim
    state = state.reshape(state.shape[:-1] + (1,) * extra + state.shape[-1:])
    hidden = _normed(jnp, critic["norm"], state + jnp.clip(action, -1, 1) @ critic["action"])
    hidden = jnp.maximum(_apply(critic["second"], hidden), 0)
    return _apply(critic["value"], hidden)[..., 0]


def log_density(mean: Any, deviation: Any, action: Any) -> Any:
    """log π(a) of a diagonal Gaussian, summed over the action's dimensions (the last axis)."""
    xp = jnp if isinstance(mean, jax.Array) else np
    scaled = (action - mean) / deviation
    return xp.sum(-0.5 * scaled**2 - xp.log(deviation) - 0.5 * _LOG_2PI, axis=-1)


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


def _apply(layer: Weights, x: Any) -> Any:
    return x @ layer["matrix"] + layer["bias"]


def _norm(width: int) -> Weights:
    return {"scale": jnp.ones(width), "offset": jnp.zeros(width)}


def _normed(xp: Any, norm: Weights, x: Any) -> Any:
    """tanh(LayerNorm(x)): observations come in any units, and no feature may run away."""
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    size = xp.sqrt(xp.mean(centred**2, axis=-1, keepdims=True) + _EPSILON)
    return xp.tanh(centred / size * norm["scale"] + norm["offset"])
