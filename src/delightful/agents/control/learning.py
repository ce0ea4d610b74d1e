"""The learner: sequences from replay, Retrace for the critic, a score weight for the actor.

One learner step is one compiled program, sampling included, and `learn` makes many of them.
"""

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from delightful.agents import adam
from delightful.agents.control import networks, replay, retrace
from delightful.agents.control.config import LEAST_WEIGHT, ControlConfig
from delightful.agents.control.policy import Weights, gaussian, log_density
from delightful.agents.control.transitions import Rows
from delightful.gate import gate
from delightful.lab.compiling import separate
from delightful.losses import policy_loss
from delightful.weights import METHODS, score_weight

LEAST_SCALE = 1e-2  # a first rare reward must not be blown up without bound
PPO_CLIP = METHODS["ppo"].defaults["clip"]


class Learner(NamedTuple):
    """All that learning changes."""

    actor: Weights
    critic: Weights
    target_actor: Weights
    target_critic: Weights
    actor_optimiser: adam.Adam
    critic_optimiser: adam.Adam
    reward_mean: jax.Array  # moving averages of the rewards, and of their squares
    reward_square: jax.Array
    steps: jax.Array


class Gaussian(NamedTuple):
    """The policy at each replayed state."""

    mean: jax.Array
    deviation: jax.Array

    def log_prob(self, action: Any) -> Any:
        """Of one action at each state, or of draws, which lie along an axis after the states'."""
        if action.ndim == self.mean.ndim:
            return log_density(self.mean, self.deviation, action)
        return log_density(self.mean[:, :, None], self.deviation[:, :, None], action)


class Draws(NamedTuple):
    """Actions drawn from the policy at replayed states, and what they are worth."""

    action: jax.Array  # (time, sequences, draws, dimensions)
    q: jax.Array


def start(config: ControlConfig, seed: int, observed: int, actions: int) -> Learner:
    for_actor, for_critic = jax.random.split(jax.random.key(seed))
    actor = networks.initial_actor(for_actor, config, observed, actions)
    critic = networks.initial_critic(for_critic, config, observed, actions)
    return Learner(
        actor,
        critic,
        jax.tree.map(jnp.copy, actor),
        jax.tree.map(jnp.copy, critic),
        adam.start(actor),
        adam.start(critic),
        jnp.zeros(()),
        jnp.zeros(()),
        jnp.zeros((), jnp.int32),
    )


def learn(
    config: ControlConfig, learner: Learner, memory: replay.Replay, seed: int, count: int
) -> tuple[Learner, dict[str, jax.Array]]:
    """`count` learner steps, and the means of what they measured."""
    learned: tuple[Learner, dict[str, jax.Array]] = _learn(
        *separate(config), learner, memory, seed, count
    )
    return learned


@partial(jax.jit, static_argnums=(0, 1))
def _learn(
    static: ControlConfig,
    fixed: tuple[tuple[str, Any], ...],
    fields: Mapping[str, Any],
    traced: Mapping[str, Any],
    learner: Learner,
    memory: replay.Replay,
    seed: jax.Array,
    count: jax.Array,
) -> tuple[Learner, dict[str, jax.Array]]:
    config = dataclasses.replace(static, **fields)
    options = {**dict(fixed), **traced}
    for name in ("max_surprisal", "max_ratio"):
        if options.get(name, 0) is None:  # a method that takes it, and was not told
            options[name] = getattr(config, name)
    key = jax.random.key(seed)

    def one(_: Any, state: tuple[Learner, Any]) -> tuple[Learner, Any]:
        learner, sums = state
        learner, seen = step(
            config, options, learner, memory, jax.random.fold_in(key, learner.steps)
        )
        return learner, {name: sums[name] + value for name, value in seen.items()}

    nothing = dict.fromkeys(MEASURED, jnp.zeros(()))
    learner, sums = jax.lax.fori_loop(0, count, one, (learner, nothing))
    return learner, {name: total / jnp.maximum(count, 1) for name, total in sums.items()}


def step(
    config: ControlConfig,
    options: Mapping[str, Any],
    learner: Learner,
    memory: replay.Replay,
    key: jax.Array,
) -> tuple[Learner, dict[str, jax.Array]]:
    pick, drawing = jax.random.split(key)
    rows = replay.sample(memory, pick, config.sequences, config.length)
    learner = _follow_rewards(config, learner, rows)
    policy, back = jax.vjp(
        lambda actor: Gaussian(*gaussian(config, actor, rows.observation)), learner.actor
    )
    draws = draw(config, learner, rows, policy, drawing)
    critic, of_critic = _improve_critic(config, learner, rows, policy, draws)
    old = Gaussian(*gaussian(config, learner.target_actor, rows.observation[:-1]))
    along, seen = jax.grad(partial(actor_loss, config, options), has_aux=True)(
        policy, old, rows, draws
    )
    actor, skipped = _descend(config, learner.actor, back(along)[0], learner.actor_optimiser)
    of_critic["skipped"] = jnp.maximum(of_critic["skipped"], skipped)
    of_actor = {**seen, "reward_scale": reward_scale(learner)}
    return _next(config, learner, actor, critic), {**of_actor, **of_critic}


def _descend(
    config: ControlConfig, weights: Weights, gradient: Weights, optimiser: adam.Adam
) -> tuple[tuple[Weights, adam.Adam], jax.Array]:
    """An Adam step, and whether it was skipped: one that is not finite is not made."""
    sound = jnp.isfinite(sum(jnp.sum(g) for g in jax.tree.leaves(gradient)))
    new = adam.descend(weights, gradient, optimiser, config.learning_rate)
    kept = jax.tree.map(lambda n, o: jnp.where(sound, n, o), new, (weights, optimiser))
    return kept, jnp.where(sound, 0.0, 1.0)


def _next(
    config: ControlConfig,
    learner: Learner,
    actor: tuple[Weights, adam.Adam],
    critic: tuple[Weights, adam.Adam],
) -> Learner:
    """The learner with its new networks, copied to its targets every so often."""
    steps = learner.steps + 1
    copied = steps % config.target_period == 0

    def follow(target: Weights, source: Weights) -> Weights:
        newest: Weights = jax.tree.map(lambda t, s: jnp.where(copied, s, t), target, source)
        return newest

    return Learner(
        actor[0],
        critic[0],
        follow(learner.target_actor, actor[0]),
        follow(learner.target_critic, critic[0]),
        actor[1],
        critic[1],
        learner.reward_mean,
        learner.reward_square,
        steps,
    )


def draw(
    config: ControlConfig, learner: Learner, rows: Rows, policy: Gaussian, key: jax.Array
) -> Draws:
    """Fresh actions of the current policy at every replayed state, valued by the target critic.

    The same draws serve Retrace, for E_π Q, and the actor, for its advantages: valuing them is
    most of what a learner step costs. They come in pairs on either side of the mean. Each is a draw
    from the policy, and over a pair the score of the mean adds up to 0: what a method gives to all
    draws alike, as MPO does most of its weight, is no noise then.
    """
    steps, sequences, actions = policy.mean.shape
    half = jax.random.normal(key, (steps, sequences, config.draws // 2, actions))
    noise = jnp.concatenate([half, -half], axis=2)
    action = policy.mean[:, :, None] + policy.deviation[:, :, None] * noise
    return Draws(action, networks.value(learner.target_critic, rows.observation, action))


def advantages(q: jax.Array) -> jax.Array:
    """U = Q(s, a) − its mean over the draws at s: our reading of 'on-policy score terms'."""
    return q - jnp.mean(q, axis=-1, keepdims=True)


def actor_loss(
    config: ControlConfig,
    options: Mapping[str, Any],
    policy: Gaussian,
    old: Gaussian,
    rows: Rows,
    draws: Draws,
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """The method's loss on the draws, and what holds every method's policy up.

    The last row is there for its value only, and `old`, the target policy, is without it.
    """
    policy = Gaussian(*(x[:-1] for x in policy))
    action, advantage = draws.action[:-1], advantages(draws.q[:-1])
    log_prob, old_log_prob = policy.log_prob(action), old.log_prob(action)
    mode = policy.log_prob(policy.mean)[:, :, None] + jnp.zeros_like(log_prob)
    batch = {
        "mask": rows.valid[:-1, :, None] + jnp.zeros_like(log_prob),
        "old_log_prob": old_log_prob,
        "mode_log_prob": jax.lax.stop_gradient(mode) if config.surprisal == "mode" else None,
        "axis": 2,
        **options,
    }
    score = policy_loss(log_prob, advantage, method=config.method, **batch)
    weight = size(score_weight(log_prob, advantage, method=config.method, **batch))
    moved, changed = map(jnp.mean, networks.divergence(*old, *policy))
    ratio = jnp.exp(log_prob - old_log_prob)
    seen = _measure(config, log_prob, mode, advantage) | {
        "weight": weight,
        "clipped": jnp.mean(jnp.abs(ratio - 1) > PPO_CLIP),
        "deviation": jnp.mean(policy.deviation),
        "kl": moved,
        "kl_deviation": changed,
    }
    return score / weight + config.kl * moved + config.kl_deviation * changed, seen


def size(weight: jax.Array) -> jax.Array:
    """How far score weights lie from their mean at each state, as a root mean square.

    Adam does not feel the size of a method's weights, but what holds the policy up would: DG's gate
    halves them, and against the same KL term DG would take half of PG's steps.
    """
    apart = weight - jnp.mean(weight, axis=-1, keepdims=True)
    return jnp.maximum(jnp.sqrt(jnp.mean(apart**2)), LEAST_WEIGHT)


MEASURED = (
    "inverted",
    "surprisal",
    "gate_good",
    "gate_bad",
    "advantage",
    "weight",
    "clipped",
    "deviation",
    "kl",
    "kl_deviation",
    "critic_loss",
    "trace",
    "skipped",
    "reward_scale",
)


def _measure(
    config: ControlConfig, log_prob: jax.Array, mode: jax.Array, advantage: jax.Array
) -> dict[str, jax.Array]:
    """DG's gate at η = 1 and how often density inverts it, whatever the method."""
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


def reward_scale(learner: Learner) -> jax.Array:
    return jnp.maximum(jnp.sqrt(learner.reward_square), LEAST_SCALE)


def _follow_rewards(config: ControlConfig, learner: Learner, rows: Rows) -> Learner:
    """The moving averages, begun as the plain means of what has been seen."""
    rate = jnp.maximum(1 - config.reward_decay, 1 / (learner.steps + 1))

    def follow(average: jax.Array, values: jax.Array) -> jax.Array:
        seen = jnp.sum(values * rows.valid) / jnp.maximum(jnp.sum(rows.valid), 1)
        return average + rate * (seen - average)

    return learner._replace(
        reward_mean=follow(learner.reward_mean, rows.reward),
        reward_square=follow(learner.reward_square, rows.reward**2),
    )


def normalised(config: ControlConfig, learner: Learner, rows: Rows) -> Any:
    """Rewards less their mean, by their size; the end of a task is worth what it would be then.

    Taking the same from every reward takes the same from every value, if a task that ends is given
    no reward for ever after: no policy gains by it, and the critic has less to learn.
    """
    scale, mean = reward_scale(learner), learner.reward_mean
    ended = (1 - rows.discount) * config.discount / (1 - config.discount)
    return (rows.reward - mean - ended * mean) / scale


def _improve_critic(
    config: ControlConfig, learner: Learner, rows: Rows, policy: Gaussian, draws: Draws
) -> tuple[tuple[Weights, adam.Adam], dict[str, jax.Array]]:
    observation, action = rows.observation[:-1], rows.action[:-1]
    log_ratio = Gaussian(*(x[:-1] for x in policy)).log_prob(action) - rows.log_prob[:-1]
    traces = jnp.mean(jnp.minimum(1.0, jnp.exp(log_ratio)))
    goal = retrace.targets(
        networks.value(learner.target_critic, observation, action),
        jnp.mean(draws.q[1:], axis=-1),
        normalised(config, learner, rows)[:-1],
        config.discount * rows.discount[:-1],
        jnp.where(rows.valid[:-1] > 0, log_ratio, -jnp.inf),
        config.trace,
    )

    def loss(critic: Weights) -> jax.Array:
        error = networks.value(critic, observation, action) - goal
        return 0.5 * jnp.sum(error**2 * rows.valid[:-1]) / jnp.sum(rows.valid[:-1])

    value, gradient = jax.value_and_grad(loss)(learner.critic)
    critic, skipped = _descend(config, learner.critic, gradient, learner.critic_optimiser)
    # A loss that is not finite would spoil the mean over all the others.
    value = jnp.where(skipped > 0, 0.0, value)
    return critic, {"critic_loss": value, "trace": traces, "skipped": skipped}
