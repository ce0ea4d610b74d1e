"""The losses of the actor, with any method's score weight, and of the critic, with Retrace."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from delightful.agents.control import networks
from delightful.agents.control.config import LEAST_WEIGHT, ControlConfig
from delightful.agents.control.gaussian import Gaussian, Weights, divergence
from delightful.agents.control.readings import Samples, Scored
from delightful.agents.control.rollout import Transitions
from delightful.diagnostics import DEAD
from delightful.gate import gate
from delightful.losses import policy_loss
from delightful.registry import METHODS
from delightful.weights import score_weight

PPO_CLIP = METHODS["ppo"].defaults["clip"]
LEAST_SIZE = 1e-12  # of advantages that are divided by
LEAST_SCALE = 1e-2  # bounds how far a first, rare reward is scaled up


def actor_loss(
    config: ControlConfig,
    options: Mapping[str, Any],
    policy: Gaussian,
    target_policy: Gaussian,
    transitions: Transitions,
    scored: Scored,
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """policy_loss / weight_scale + kl·KL_mean + kl_deviation·KL_deviation, to the target policy.

    Also returns diagnostics. The target policy and the scored actions come without the last state,
    which is Retrace's.
    """
    policy = Gaussian(*(x[:-1] for x in policy))
    log_prob = policy.log_prob(scored.action)
    mode = policy.log_prob(policy.mean)[:, :, None] + jnp.zeros_like(log_prob)
    batch = {
        "log_prob": log_prob,
        "advantage": scored.advantage,
        "method": config.method,
        "mask": transitions.valid[:-1, :, None] + jnp.zeros_like(log_prob),
        "old_log_prob": scored.old_log_prob,
        "mode_log_prob": jax.lax.stop_gradient(mode) if config.surprisal == "mode" else None,
        "axis": scored.axis,
        **options,
    }
    scale = weight_scale(score_weight(**batch), scored.axis)
    moved, changed = map(jnp.mean, divergence(target_policy, policy))
    ratio = jnp.exp(log_prob - scored.old_log_prob)
    seen = gate_diagnostics(config, log_prob, mode, scored.advantage) | {
        "weight": scale,
        "clipped": jnp.mean(jnp.abs(ratio - 1) > PPO_CLIP),
        "deviation": jnp.mean(policy.deviation),
        "kl": moved,
        "kl_deviation": changed,
    }
    loss = policy_loss(**batch) / scale + config.kl * moved + config.kl_deviation * changed
    return loss, seen


def weight_scale(weight: jax.Array, axis: int | None) -> jax.Array:
    """Root mean square of score weights, at least LEAST_WEIGHT.

    Dividing by it makes the KL regulariser equally strong for all methods: DG's gate halves the
    weights, and against the same KL term DG would take half of PG's steps. Among several actions of
    one state, along `axis`, a common weight has no effect: there it is that about their mean.
    """
    if axis is not None:
        weight = weight - jnp.mean(weight, axis=axis, keepdims=True)
    return jnp.maximum(jnp.sqrt(jnp.mean(weight**2)), LEAST_WEIGHT)


def gate_diagnostics(
    config: ControlConfig, log_prob: jax.Array, mode: jax.Array, advantage: jax.Array
) -> dict[str, jax.Array]:
    """DG's gate at η = 1, whatever the method; how often a density above 1 inverts it; and `dead`,
    the share of the advantage where it does nothing: DG is PG/2 there."""
    relative = mode if config.surprisal == "mode" else None
    w = gate(log_prob, advantage, max_surprisal=config.max_surprisal, mode_log_prob=relative)
    good, bad, size = advantage > 0, advantage < 0, jnp.abs(advantage)
    idle = jnp.abs(w - 0.5) <= DEAD
    return {
        "inverted": jnp.mean(log_prob > 0),
        "surprisal": -jnp.mean(log_prob),
        "gate_good": jnp.sum(w * good) / jnp.maximum(jnp.sum(good), 1),
        "gate_bad": jnp.sum(w * bad) / jnp.maximum(jnp.sum(bad), 1),
        "dead": jnp.sum(size * idle) / jnp.maximum(jnp.sum(size), LEAST_SIZE),
        "advantage": jnp.sqrt(jnp.mean(advantage**2)),
    }


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
    q: jax.Array,
    statistics: RewardStatistics,
    transitions: Transitions,
    policy: Gaussian,
    samples: Samples,
) -> tuple[jax.Array, jax.Array]:
    """Targets for Q(s_t, a_t) at all replayed transitions but the last; the mean of min(1, π/μ).

    `q` is their value by the target critic.
    """
    acted = Gaussian(*(x[:-1] for x in policy)).log_prob(transitions.action[:-1])
    log_ratio = acted - transitions.log_prob[:-1]
    targets = retrace(
        q,
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


def retrace(
    q: jax.Array,
    next_value: jax.Array,
    reward: jax.Array,
    discount: jax.Array,
    log_ratio: jax.Array,
    trace: float | jax.Array,
) -> jax.Array:
    """Retrace(λ): Q(s_t, a_t) + Σ_{k≥t} (Π_{t<i≤k} γ_{i−1}·c_i) δ_k with c = λ·min(1, π/μ).

    Off-policy targets for Q from replayed sequences (Munos et al. 2016), with
    δ_t = r_t + γ_t·E_π Q(s_{t+1}, ·) − Q(s_t, a_t). Time is on the first axis of every array.

    Args:
        q: Q(s_t, a_t).
        next_value: E_π Q(s_{t+1}, ·).
        reward: r_t.
        discount: γ_t, 0 where the task terminated.
        log_ratio: log π(a_t) − log μ(a_t). −∞ cuts the trace: no target before it looks past t.
        trace: λ.

    Returns:
        Targets for Q(s_t, a_t), in q's shape.
    """
    error = reward + discount * next_value - q
    passed = discount[:-1] * trace * jnp.minimum(1.0, jnp.exp(log_ratio[1:]))

    def back(later: jax.Array, at: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        total = at[0] + at[1] * later
        return total, total

    _, earlier = jax.lax.scan(back, error[-1], (error[:-1], passed), reverse=True, unroll=True)
    return q + jnp.concatenate([earlier, error[-1:]])
