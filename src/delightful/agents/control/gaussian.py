"""The Gaussian policy as a function of its weights, for NumPy and JAX alike: actors need no JAX."""

import math
import sys
from typing import Any, NamedTuple

import numpy as np

from delightful.agents.control.config import ControlConfig

Weights = dict[str, Any]

LEAST_SPREAD = -40.0  # the deviation is at its least; far below, exp overflows and has no gradient


class Gaussian(NamedTuple):
    """A diagonal Gaussian over actions at each state; the last axis is the action's."""

    mean: Any  # arrays of NumPy's or of JAX
    deviation: Any

    def log_prob(self, action: Any) -> Any:
        """log π(a) = Σ_i log N(a_i; mean_i, deviation_i), of one or several actions per state."""
        xp, mean, deviation = _library(self.mean), self.mean, self.deviation
        if action.ndim > mean.ndim:
            mean, deviation = mean[..., None, :], deviation[..., None, :]
        scaled = (action - mean) / deviation
        return xp.sum(-0.5 * scaled**2 - xp.log(deviation) - 0.5 * math.log(2 * math.pi), axis=-1)


def policy(config: ControlConfig, actor: Weights, observation: Any) -> Gaussian:
    """The actor network: π(·|s) at each observation.

    The mean is bounded by tanh. Without a bound it could leave the action bounds: every sample
    would be clipped to the same action, all advantages would be 0, and it would never return.
    """
    xp = _library(observation)
    hidden = tanh_layer_norm(xp, actor["norm"], linear(actor["first"], observation))
    hidden = xp.maximum(linear(actor["second"], hidden), 0)
    room = config.most_deviation - config.least_deviation
    share = (config.deviation - config.least_deviation) / room
    log = math.log if isinstance(share, float) else xp.log  # NumPy's would give float64
    spread = linear(actor["spread"], hidden) - log(1 / share - 1)  # at first, config.deviation
    spread = xp.maximum(spread, LEAST_SPREAD)
    deviation = config.least_deviation + room / (1 + xp.exp(-spread))
    return Gaussian(xp.tanh(linear(actor["mean"], hidden)), deviation)


def divergence(old: Gaussian, new: Gaussian) -> tuple[Any, Any]:
    """KL(old ‖ new) per state in two parts, so that each can have a coefficient of its own.

    ½Σ((μ − μ_old)/σ_old)² for the mean, and Σ(½(σ_old²/σ² − 1) − log(σ_old/σ)) for the deviation.
    """
    xp = _library(old.mean)
    ratio = old.deviation / new.deviation
    moved = (new.mean - old.mean) / old.deviation
    changed = 0.5 * (ratio**2 - 1) - xp.log(ratio)
    return xp.sum(0.5 * moved**2, axis=-1), xp.sum(changed, axis=-1)


def linear(layer: Weights, x: Any) -> Any:
    """x @ matrix + bias."""
    return product(x, layer["matrix"]) + layer["bias"]


def product(x: Any, matrix: Any) -> Any:
    """x @ matrix, as a product of two axes: with more, XLA's gradient of the matrix is slow."""
    return (x.reshape(-1, x.shape[-1]) @ matrix).reshape(*x.shape[:-1], -1)


def tanh_layer_norm(xp: Any, norm: Weights, x: Any) -> Any:
    """tanh(LayerNorm(x)): observations come in any units, and every feature stays bounded."""
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    size = xp.sqrt(xp.mean(centred**2, axis=-1, keepdims=True) + 1e-6)
    return xp.tanh(centred / size * norm["scale"] + norm["offset"])


def _library(array: Any) -> Any:
    return np if isinstance(array, np.ndarray) else sys.modules["jax.numpy"]
