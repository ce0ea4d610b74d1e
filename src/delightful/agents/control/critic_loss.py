"""The critic's loss: squared error to Retrace targets, of normalised rewards."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from delightful.agents.control import networks, retrace
from delightful.agents.control.actor_loss import Samples
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.gaussian import Gaussian, Weights
from delightful.agents.control.rollout import Transitions

LEAST_SCALE = 1e-2  # bounds how far a first, rare reward is scaled up


class RewardStatistics(NamedTuple):
    """Exponential moving averages of the rewards and of their squares."""

    mean: jax.Array
    square: jax.Array

    @property
    def scale(self) -> jax.Array:
        """Root mean square of the rewards, at least LEAST_SCALE."""
        return jnp.maximum(jnp.sqrt(self.square), LEAST_SCALE)


def update_statistics(
    config: ControlConfig, statistics: RewardStatistics, transitions: Transitions, steps: jax.Array
) -> RewardStatistics:
    """The averages after another batch; in the first learner steps, means of all batches so far."""
    rate = jnp.maximum(1 - config.reward_decay, 1 / (steps + 1))
    reward, valid = transitions.reward, transitions.valid
    count = jnp.maximum(jnp.sum(valid), 1)
    seen = (jnp.sum(values * valid) / count for values in (reward, reward**2))
    pairs = zip(statistics, seen, strict=True)
    return RewardStatistics(*(average + rate * (new - average) for average, new in pairs))


def normalised_rewards(
    config: ControlConfig, statistics: RewardStatistics, transitions: Transitions
) -> Any:
    """(r − mean)/scale; terminal values are shifted consistently with the mean-subtracted rewards.

    Subtracting the mean from every reward lowers all values by mean/(1 − γ), if a terminated task
    is taken to give reward 0 for ever after: at its end, −γ/(1 − γ)·mean is added. No policy gains
    by that, and the critic has less to learn.
    """
    mean = statistics.mean
    terminal = (1 - transitions.discount) * config.discount / (1 - config.discount)
    return (transitions.reward - mean - terminal * mean) / statistics.scale


def retrace_targets(
    config: ControlConfig,
    target_critic: Weights,
    statistics: RewardStatistics,
    transitions: Transitions,
    policy: Gaussian,
    samples: Samples,
) -> tuple[jax.Array, jax.Array]:
    """Targets for Q(s_t, a_t) at all replayed transitions but the last; the mean of min(1, π/μ)."""
    observation, action = transitions.observation[:-1], transitions.action[:-1]
    log_ratio = Gaussian(*(x[:-1] for x in policy)).log_prob(action) - transitions.log_prob[:-1]
    targets = retrace.targets(
        networks.value(target_critic, observation, action),
        jnp.mean(samples.q[1:], axis=-1),
        normalised_rewards(config, statistics, transitions)[:-1],
        config.discount * transitions.discount[:-1],
        jnp.where(transitions.valid[:-1] > 0, log_ratio, -jnp.inf),
        config.trace,
    )
    return targets, jnp.mean(jnp.minimum(1.0, jnp.exp(log_ratio)))


def critic_loss(critic: Weights, transitions: Transitions, targets: jax.Array) -> jax.Array:
    """½(Q(s, a) − target)², averaged over the valid transitions but the last."""
    valid = transitions.valid[:-1]
    q = networks.value(critic, transitions.observation[:-1], transitions.action[:-1])
    return 0.5 * jnp.sum((q - targets) ** 2 * valid) / jnp.sum(valid)
