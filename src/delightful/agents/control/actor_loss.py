"""The actor's loss: advantages on actions sampled afresh, any method's score weight, a KL term.

At every replayed state, actions are sampled from the current policy and valued by the target
critic: our reading of the paper's 'on-policy score terms without importance ratios'.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from delightful.agents.control import networks
from delightful.agents.control.config import LEAST_WEIGHT, ControlConfig
from delightful.agents.control.gaussian import Gaussian, Weights, divergence
from delightful.agents.control.rollout import Transitions
from delightful.gate import gate
from delightful.losses import policy_loss
from delightful.weights import METHODS, score_weight

PPO_CLIP = METHODS["ppo"].defaults["clip"]


class Samples(NamedTuple):
    """Actions sampled from the current policy at replayed states, and their target values."""

    action: jax.Array  # (time, sequences, samples, dimensions)
    q: jax.Array


def sample_actions(
    config: ControlConfig,
    target_critic: Weights,
    observation: jax.Array,
    policy: Gaussian,
    key: jax.Array,
) -> Samples:
    """Sample actions a ~ π(·|s) at every replayed state, in antithetic pairs mean ± noise.

    The same samples serve Retrace, for E_π Q, and the actor, for its advantages: valuing them is
    most of what a learner step costs. Over a pair the score of the mean sums to 0, so a weight
    that a method gives to all samples alike, as most of MPO's, adds no variance.
    """
    steps, sequences, actions = policy.mean.shape
    half = jax.random.normal(key, (steps, sequences, config.draws // 2, actions))
    noise = jnp.concatenate([half, -half], axis=2)
    action = policy.mean[:, :, None] + policy.deviation[:, :, None] * noise
    return Samples(action, networks.value(target_critic, observation, action))


def actor_loss(
    config: ControlConfig,
    options: Mapping[str, Any],
    policy: Gaussian,
    target_policy: Gaussian,
    transitions: Transitions,
    samples: Samples,
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """policy_loss / weight_scale + kl·KL_mean + kl_deviation·KL_deviation, to the target policy.

    Also returns diagnostics. The target policy comes without the last state, which is Retrace's.
    """
    policy = Gaussian(*(x[:-1] for x in policy))
    action, q = samples.action[:-1], samples.q[:-1]
    advantage = q - jnp.mean(q, axis=-1, keepdims=True)
    log_prob, old_log_prob = policy.log_prob(action), target_policy.log_prob(action)
    mode = policy.log_prob(policy.mean)[:, :, None] + jnp.zeros_like(log_prob)
    batch = {
        "log_prob": log_prob,
        "advantage": advantage,
        "method": config.method,
        "mask": transitions.valid[:-1, :, None] + jnp.zeros_like(log_prob),
        "old_log_prob": old_log_prob,
        "mode_log_prob": jax.lax.stop_gradient(mode) if config.surprisal == "mode" else None,
        "axis": 2,
        **options,
    }
    scale = weight_scale(score_weight(**batch))
    moved, changed = map(jnp.mean, divergence(target_policy, policy))
    ratio = jnp.exp(log_prob - old_log_prob)
    seen = gate_diagnostics(config, log_prob, mode, advantage) | {
        "weight": scale,
        "clipped": jnp.mean(jnp.abs(ratio - 1) > PPO_CLIP),
        "deviation": jnp.mean(policy.deviation),
        "kl": moved,
        "kl_deviation": changed,
    }
    loss = policy_loss(**batch) / scale + config.kl * moved + config.kl_deviation * changed
    return loss, seen


def weight_scale(weight: jax.Array) -> jax.Array:
    """Root mean square of score weights about their mean at each state, at least LEAST_WEIGHT.

    Dividing by it makes the KL regulariser equally strong for all methods: DG's gate halves the
    weights, and against the same KL term DG would take half of PG's steps.
    """
    centred = weight - jnp.mean(weight, axis=-1, keepdims=True)
    return jnp.maximum(jnp.sqrt(jnp.mean(centred**2)), LEAST_WEIGHT)


def gate_diagnostics(
    config: ControlConfig, log_prob: jax.Array, mode: jax.Array, advantage: jax.Array
) -> dict[str, jax.Array]:
    """DG's gate at η = 1, and how often a density above 1 inverts it, whatever the method."""
    relative = mode if config.surprisal == "mode" else None
    w = gate(log_prob, advantage, max_surprisal=config.max_surprisal, mode_log_prob=relative)
    good, bad = advantage > 0, advantage < 0
    return {
        "inverted": jnp.mean(log_prob > 0),
        "surprisal": -jnp.mean(log_prob),
        "gate_good": jnp.sum(w * good) / jnp.maximum(jnp.sum(good), 1),
        "gate_bad": jnp.sum(w * bad) / jnp.maximum(jnp.sum(bad), 1),
        "advantage": jnp.sqrt(jnp.mean(advantage**2)),
    }
