"""The policy as a function of its weights, for NumPy and JAX alike: actors need no JAX."""

import math
import sys
from typing import Any

import numpy as np

from delightful.agents.control.config import ControlConfig

Weights = dict[str, Any]

_LOG_2PI = float(np.log(2 * np.pi))
_EPSILON = 1e-6


def gaussian(config: ControlConfig, actor: Weights, observation: Any) -> tuple[Any, Any]:
    """Mean and standard deviation of the Gaussian at each state, for JAX and NumPy alike.

    The mean is bounded by tanh: where it could leave the actions' bounds it would, every draw would
    be clipped to the same action, and with all advantages 0 it would never come back.
    """
    xp = _library(observation)
    hidden = normed(xp, actor["norm"], apply(actor["first"], observation))
    hidden = xp.maximum(apply(actor["second"], hidden), 0)
    spread = apply(actor["spread"], hidden) + first_spread(config)
    room = config.most_deviation - config.least_deviation
    deviation = config.least_deviation + room / (1 + xp.exp(-spread))
    return xp.tanh(apply(actor["mean"], hidden)), deviation


def first_spread(config: ControlConfig) -> Any:
    """What the deviation's sigmoid is given at first, to start at `deviation`."""
    share = (config.deviation - config.least_deviation) / (
        config.most_deviation - config.least_deviation
    )
    if isinstance(share, float):
        return -math.log(1 / share - 1)
    return -_library(share).log(1 / share - 1)


def log_density(mean: Any, deviation: Any, action: Any) -> Any:
    """log π(a) of a diagonal Gaussian, summed over the action's dimensions (the last axis)."""
    xp = _library(mean)
    scaled = (action - mean) / deviation
    return xp.sum(-0.5 * scaled**2 - xp.log(deviation) - 0.5 * _LOG_2PI, axis=-1)


def apply(layer: Weights, x: Any) -> Any:
    """A linear layer."""
    return product(x, layer["matrix"]) + layer["bias"]


def product(x: Any, matrix: Any) -> Any:
    """x @ matrix, as a product of two axes: with more, XLA's gradient of the matrix is slow."""
    return (x.reshape(-1, x.shape[-1]) @ matrix).reshape(*x.shape[:-1], -1)


def normed(xp: Any, norm: Weights, x: Any) -> Any:
    """tanh(LayerNorm(x)): observations come in any units, and no feature may run away."""
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    size = xp.sqrt(xp.mean(centred**2, axis=-1, keepdims=True) + _EPSILON)
    return xp.tanh(centred / size * norm["scale"] + norm["offset"])


def _library(array: Any) -> Any:
    return np if isinstance(array, np.ndarray) else sys.modules["jax.numpy"]
