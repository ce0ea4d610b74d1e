"""Which actions the actor's update scores, and with what advantage: two readings of the paper.

    replayed   the actions of the replayed transitions, U = Q − E_π Q
    fresh      actions sampled from the current policy at replayed states, U = Q − mean Q

Algorithm 2 of the paper loops over a batch of A_t given H_t, and "on-policy score terms without
importance ratios" says something only of actions that another policy has taken: that speaks for
`replayed`. A reading is one function, one line of `BY_NAME` and a name in `config.READINGS`.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from delightful.agents.control import networks
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.gaussian import Gaussian, Weights
from delightful.agents.control.rollout import Transitions


class Samples(NamedTuple):
    """Actions sampled from the current policy at replayed states, and their target values."""

    action: jax.Array  # (time, sequences, samples, dimensions)
    q: jax.Array


class Values(NamedTuple):
    """What the replayed actions are worth, at all replayed states but the last."""

    q: jax.Array  # by the target critic
    target: jax.Array  # Retrace's, for the critic


class Scored(NamedTuple):
    """The actions that the actor's update scores, at all replayed states but the last."""

    action: jax.Array  # (time, sequences, samples, dimensions)
    advantage: jax.Array
    old_log_prob: jax.Array  # for ratios
    axis: int | None  # along which methods such as MPO compare actions; None: over the whole batch


def sample_actions(
    config: ControlConfig,
    target_critic: Weights,
    observation: jax.Array,
    policy: Gaussian,
    key: jax.Array,
) -> Samples:
    """Sample actions a ~ π(·|s) at every replayed state, in antithetic pairs mean ± noise.

    The same samples serve Retrace, for E_π Q, and the actor's advantages. Over a pair the score of
    the mean sums to 0, so a weight that a method gives to all samples alike, as most of MPO's, adds
    no variance to fresh scores.
    """
    steps, sequences, actions = policy.mean.shape
    half = jax.random.normal(key, (steps, sequences, config.draws // 2, actions))
    noise = jnp.concatenate([half, -half], axis=2)
    action = policy.mean[:, :, None] + policy.deviation[:, :, None] * noise
    return Samples(action, networks.value(target_critic, observation, action))


def replayed(
    config: ControlConfig,
    transitions: Transitions,
    samples: Samples,
    values: Values,
    target_policy: Gaussian,
) -> Scored:
    """The replayed actions: U = Q − E_π Q, ratios to the policy that acted."""
    del target_policy
    worth = values.q if config.advantage == "critic" else values.target
    advantage = worth - jnp.mean(samples.q[:-1], axis=-1)
    one = (transitions.action, advantage, transitions.log_prob)
    action, advantage, log_prob = (x[: len(worth), :, None] for x in one)
    return Scored(action, advantage, log_prob, axis=None)


def fresh(
    config: ControlConfig,
    transitions: Transitions,
    samples: Samples,
    values: Values,
    target_policy: Gaussian,
) -> Scored:
    """Samples of the current policy: U = Q − mean Q, ratios to the target policy."""
    del config, transitions, values
    action, q = samples.action[:-1], samples.q[:-1]
    advantage = q - jnp.mean(q, axis=-1, keepdims=True)
    return Scored(action, advantage, target_policy.log_prob(action), axis=2)


BY_NAME: dict[str, Callable[..., Scored]] = {
    "replayed": replayed,
    "fresh": fresh,
}
