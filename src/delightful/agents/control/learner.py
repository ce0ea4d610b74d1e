"""The learner: sequences from replay, Retrace for the critic, a score weight for the actor.

One learner step is one compiled program, sampling included, and `learn` runs many of them.
"""

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from delightful.agents import adam
from delightful.agents.control import losses, networks, readings, replay
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.gaussian import Weights, policy
from delightful.lab.compiling import separate

MEASURED = (
    *("inverted", "surprisal", "gate_good", "gate_bad", "dead", "advantage", "weight", "clipped"),
    *("deviation", "kl", "kl_deviation", "critic_loss", "trace", "skipped", "reward_scale"),
)
"""The diagnostics of a learner step, in the order in which a run records them."""


class Learner(NamedTuple):
    """The learner's state."""

    actor: Weights
    critic: Weights
    target_actor: Weights
    target_critic: Weights
    actor_optimiser: adam.Adam
    critic_optimiser: adam.Adam
    rewards: losses.RewardStatistics
    steps: jax.Array


def initial(config: ControlConfig, seed: int, observed: int, actions: int) -> Learner:
    """A learner before its first step, for observations and actions of these lengths."""
    for_actor, for_critic = jax.random.split(jax.random.key(seed))
    actor = networks.initial_actor(for_actor, config, observed, actions)
    critic = networks.initial_critic(for_critic, config, observed, actions)
    targets: tuple[Weights, Weights] = jax.tree.map(jnp.copy, (actor, critic))
    optimisers = (adam.start(actor), adam.start(critic))
    rewards = losses.RewardStatistics(jnp.zeros(()), jnp.zeros(()))
    return Learner(actor, critic, *targets, *optimisers, rewards, jnp.zeros((), jnp.int32))


def learn(
    config: ControlConfig, learner: Learner, memory: replay.Replay, seed: int, count: int
) -> tuple[Learner, dict[str, jax.Array]]:
    """The learner after `count` steps, and the mean of each diagnostic over them."""
    after, means = _learn(*separate(config), learner, memory, seed, count)
    return after, means


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
        if options.get(name, 0) is None:  # an option of the method that the user left open
            options[name] = getattr(config, name)
    key = jax.random.key(seed)

    def one(_: Any, state: tuple[Learner, Any]) -> tuple[Learner, Any]:
        learner, sums = state
        its_key = jax.random.fold_in(key, learner.steps)
        learner, seen = step(config, options, learner, memory, its_key)
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
    """One update of critic and actor from a batch of replayed sequences, and its diagnostics."""
    pick, sampling = jax.random.split(key)
    transitions = replay.sample(memory, pick, config.batch // config.length, config.length)
    rewards = losses.update_statistics(config, learner.rewards, transitions, learner.steps)
    observation = transitions.observation
    current, backward = jax.vjp(lambda actor: policy(config, actor, observation), learner.actor)
    samples = readings.sample_actions(config, learner.target_critic, observation, current, sampling)

    q = networks.value(learner.target_critic, observation[:-1], transitions.action[:-1])
    targets, trace = losses.retrace_targets(config, q, rewards, transitions, current, samples)
    error, gradient = jax.value_and_grad(losses.critic_loss)(learner.critic, transitions, targets)
    (critic, critic_optimiser), critic_skipped = _descend(
        config, learner.critic, gradient, learner.critic_optimiser
    )

    target_policy = policy(config, learner.target_actor, observation[:-1])
    values = readings.Values(q, targets)
    scored = readings.BY_NAME[config.reading](config, transitions, samples, values, target_policy)
    along, seen = jax.grad(partial(losses.actor_loss, config, options), has_aux=True)(
        current, target_policy, transitions, scored
    )
    (actor, actor_optimiser), actor_skipped = _descend(
        config, learner.actor, backward(along)[0], learner.actor_optimiser
    )
    seen |= {
        # A loss that is not finite would make the mean over all steps so.
        "critic_loss": jnp.where(critic_skipped > 0, 0.0, error),
        "trace": trace,
        "skipped": jnp.maximum(critic_skipped, actor_skipped),
        "reward_scale": rewards.scale,
    }
    steps = learner.steps + 1
    due = steps % config.target_period == 0
    copied: tuple[Weights, Weights] = jax.tree.map(
        partial(jnp.where, due), (actor, critic), (learner.target_actor, learner.target_critic)
    )
    optimisers = (actor_optimiser, critic_optimiser)
    return Learner(actor, critic, *copied, *optimisers, rewards, steps), seen


def _descend(
    config: ControlConfig, weights: Weights, gradient: Weights, optimiser: adam.Adam
) -> tuple[tuple[Weights, adam.Adam], jax.Array]:
    """An Adam step, and 1 if it was skipped because its gradient was not finite."""
    finite = jnp.isfinite(sum(jnp.sum(g) for g in jax.tree.leaves(gradient)))
    new = adam.descend(weights, gradient, optimiser, config.learning_rate)
    kept = jax.tree.map(lambda n, o: jnp.where(finite, n, o), new, (weights, optimiser))
    return kept, jnp.where(finite, 0.0, 1.0)
