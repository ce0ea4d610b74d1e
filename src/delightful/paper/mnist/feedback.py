"""Bandit feedback: which actions are drawn, what they earn, and what a method makes of it.

Everything that a batch of images gives to learn from is one table, c[x, a]: the update is
Σ c·∇log π(a|x). For S draws per image, c is ω(a)·n(a)/S, with n(a) how often a was drawn; since ω
depends on x and a only, S = 100 costs about what S = 1 does. S = 0 stands for S → ∞, c = π·ω: the
exact expectation. That of PG is the PG oracle, that of CE is supervised learning. An entropy bonus
fits in as well: its gradient is that of c = −π·log π.
"""

from typing import Any

import jax
import jax.numpy as jnp

from delightful.paper.mnist.config import DIGITS, MnistConfig
from delightful.weights import score_weight, weighs_batches

_LOWEST = -80.0  # exp of it and of its negative are floats still, so that π·(1/π) is 1


def advantages(baseline: str, policy: jax.Array, right: jax.Array) -> jax.Array:
    """U = R − b for every image and action; `right` is 1 at the label."""
    chance = jnp.sum(policy * (policy if baseline == "expected" else right), axis=1, keepdims=True)
    of: dict[str, Any] = {"zero": 0.0, "constant": 0.5, "expected": chance, "oracle": chance}
    advantage: jax.Array = right - of[baseline]
    return advantage


def coefficients(
    config: MnistConfig,
    hyperparameters: dict[str, Any],
    chance: jax.Array,
    log_policy: jax.Array,
    right: jax.Array,
) -> jax.Array:
    """The table c, (batch, actions), of the method and entropy bonus that `config` names.

    chance: uniform draws, (samples, batch), that decide the actions; `right` is 1 at the label.
    """
    policy = jnp.exp(log_policy)
    advantage = advantages(config.baseline, policy, right)
    log_prob = jnp.maximum(log_policy, _LOWEST)
    if weighs_batches(config.method, **hyperparameters):
        below = at_or_below(chance, policy)
        table = _one_by_one(config, hyperparameters, below, advantage, log_prob)
    else:
        weight = score_weight(log_prob, advantage, method=config.method, **hyperparameters)
        table = weight * _shares(chance, policy, log_prob)
    return table - config.entropy * policy * log_policy


def _shares(chance: jax.Array, policy: jax.Array, log_prob: jax.Array) -> jax.Array:
    """Which share of an image's draws each action has: n(a)/S, or π(a) in the limit."""
    samples = len(chance)
    if samples == 0:
        return jnp.exp(log_prob)
    return _apart(jnp.sum(at_or_below(chance, policy), axis=0), samples).T / samples


def at_or_below(chance: jax.Array, policy: jax.Array) -> jax.Array:
    """For each draw, whether its action is 0, at most 1, ..., at most 8.

    Shape (samples, 9, images), as floats: a sum over draws then runs along contiguous images.
    """
    # Added one after the other, these never fall, so no action is drawn a negative number of times.
    total, sums = policy[:, 0], [policy[:, 0]]
    for action in range(1, DIGITS - 1):
        total = total + policy[:, action]
        sums.append(total)
    return (chance[:, None] < jnp.stack(sums)).astype(policy.dtype)


def _apart(below: jax.Array, total: int) -> jax.Array:
    """From counts of "at most a" along the second-last axis to counts of each action."""
    edge = [(0, 0)] * below.ndim
    upper = jnp.pad(below, [*edge[:-2], (0, 1), (0, 0)], constant_values=total)
    lower = jnp.pad(below, [*edge[:-2], (1, 0), (0, 0)])
    return upper - lower


def _one_by_one(
    config: MnistConfig,
    hyperparameters: dict[str, Any],
    below: jax.Array,
    advantage: jax.Array,
    log_prob: jax.Array,
) -> jax.Array:
    """For methods that compare a sample with others: every draw is an entry of its own."""
    taken = jnp.moveaxis(_apart(below, 1), 2, 0)  # (images, draws, actions)
    weight = score_weight(
        jnp.sum(taken * log_prob[:, None], axis=2),
        jnp.sum(taken * advantage[:, None], axis=2),
        method=config.method,
        # Draws of one image are one group; with one draw, the batch is.
        axis=1 if config.samples > 1 else None,
        **hyperparameters,
    )
    return jnp.sum(taken * weight[..., None], axis=1) / config.samples
