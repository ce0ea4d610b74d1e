"""Bandit feedback: sampled actions, their rewards, and the coefficients of their scores.

The update from a batch of images is one table of coefficients, c[x, a]: it is Σ c·∇log π(a|x).
For S samples per image, c is ω(a)·n(a)/S, where n(a) counts the samples of a; since ω depends on x
and a only, S = 100 costs about what S = 1 does. S = 0 stands for S → ∞, c = π·ω: the
exact expectation. That of PG is the PG oracle, that of CE is supervised learning. An entropy bonus
fits in as well: its gradient is that of c = −π·log π.
"""

from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp

from delightful.paper.mnist.config import DIGITS, MnistConfig
from delightful.registry import weighs_batches
from delightful.weights import score_weight

LOWEST = -80.0  # exp of it and of its negative are floats still, so that π·(1/π) is 1


def baselines(baseline: str, policy: jax.Array, right: jax.Array) -> Any:
    """b for every image, (images, 1), or one number for all; `right` is 1 at the label."""
    if baseline in ("zero", "constant"):
        return {"zero": 0.0, "constant": 0.5}[baseline]
    of = policy if baseline == "expected" else right
    return jnp.sum(policy * of, axis=1, keepdims=True)


def advantages(baseline: str, policy: jax.Array, right: jax.Array) -> Any:
    """U = R − b for every image and action; `right` is 1 at the label."""
    return right - baselines(baseline, policy, right)


def coefficients(
    config: MnistConfig,
    hyperparameters: dict[str, Any],
    uniforms: jax.Array,
    log_policy: jax.Array,
    right: jax.Array,
) -> jax.Array:
    """The table c, (batch, actions), of the method and entropy bonus that `config` names.

    uniforms: random numbers, (samples, batch), that decide the actions; `right` is 1 at the label.
    """
    policy = jnp.exp(log_policy)
    advantage = advantages(config.baseline, policy, right)
    log_prob = jnp.maximum(log_policy, LOWEST)
    if weighs_batches(config.method, **hyperparameters):
        # They compare samples, so every sample is an entry: (images, samples, actions).
        taken = jnp.moveaxis(_counts(at_or_below(uniforms, policy), 1), 2, 0)
        weight = score_weight(
            jnp.sum(taken * log_prob[:, None], axis=2),
            jnp.sum(taken * advantage[:, None], axis=2),
            method=config.method,
            # Samples of one image are one group; with one sample, the batch is.
            axis=1 if config.samples > 1 else None,
            **hyperparameters,
        )
        table = jnp.sum(taken * weight[..., None], axis=1) / config.samples
    else:
        shares = jnp.exp(log_prob)  # of the actions among an image's samples, in the limit
        if config.samples:
            below = jnp.sum(at_or_below(uniforms, policy), axis=0)
            shares = _counts(below, config.samples).T / config.samples
        weight = score_weight(log_prob, advantage, method=config.method, **hyperparameters)
        table = weight * shares
    return table - config.entropy * policy * log_policy


def at_or_below(uniforms: jax.Array, policy: jax.Array) -> jax.Array:
    """For each sample, whether its action is 0, at most 1, ..., at most 8.

    Shape (samples, 9, images), as floats: a sum over samples then runs along contiguous images.
    """
    # Cumulative sums, one by one: they never decrease, so no count of an action is negative.
    sums = list(accumulate(policy[:, action] for action in range(DIGITS - 1)))
    return (uniforms[:, None] < jnp.stack(sums)).astype(policy.dtype)


def _counts(below: jax.Array, total: int) -> jax.Array:
    """From counts of "at most a" along the second-last axis to counts of each action."""
    edge = [(0, 0)] * below.ndim
    upper = jnp.pad(below, [*edge[:-2], (0, 1), (0, 0)], constant_values=total)
    lower = jnp.pad(below, [*edge[:-2], (1, 0), (0, 0)])
    return upper - lower
