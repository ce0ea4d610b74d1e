"""Training on Token Reversal: sample answers, compute their advantages, update the policy."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from delightful.agents import adam, staleness
from delightful.agents.tokens import network
from delightful.agents.tokens.config import TokensConfig
from delightful.agents.tokens.environment import judge
from delightful.gate import gate
from delightful.losses import policy_loss


class Episodes(NamedTuple):
    """A batch of answers, samples last."""

    prompts: jax.Array  # (H, N)
    answers: jax.Array  # (H, N·S)
    log_policy: jax.Array  # (M, H, N·S), of the policy that acted
    advantage: jax.Array  # (N, S)


Distort = Callable[[Any, Episodes, jax.Array], Episodes]
"""From the config, a batch and the step's key to what reaches the learner of the batch."""


def train(
    config: TokensConfig,
    hyperparameters: dict[str, Any],
    key: jax.Array,
    distort: Distort | None = None,
) -> dict[str, Any]:
    """Train a policy on one fresh batch of answers per step.

    Args:
        config: the run's; `config.steps` batches.
        hyperparameters: the method's own, by name.
        key: determines all random numbers.
        distort: changes each batch on its way to the learner, as `frictions.distort` does; what is
            measured is the batch before.

    Returns:
        "step" and each of MEASURED, one value per record: the mean over the batches since the last.
    """
    every = config.steps // config.records
    start_key, step_key = jax.random.split(key)

    def step(i: jax.Array, state: tuple[Any, ...]) -> tuple[Any, ...]:
        policy, optimiser, past, sums = state
        key = jax.random.fold_in(step_key, i)
        past = staleness.remember(past, policy, i)
        if config.ages == "uniform":
            ages = staleness.draw_ages(key, config.delay, config.prompts)
            episodes, seen = act_each(config, staleness.recall(past, i, ages), key)
        else:
            by_batch = config.ages == "batch"
            age = staleness.draw_ages(key, config.delay, 1)[0] if by_batch else config.delay
            episodes, seen = act(config, staleness.recall(past, i, age), key)
        if distort is not None:
            episodes = distort(config, episodes, key)
        policy, optimiser = learn(config, hyperparameters, policy, optimiser, episodes)
        sums = jax.tree.map(lambda total, value: total + value / every, sums, seen)
        return policy, optimiser, past, sums

    def record(state: tuple[Any, ...], i: jax.Array) -> tuple[tuple[Any, ...], dict[str, Any]]:
        *rest, sums = jax.lax.fori_loop(i * every, (i + 1) * every, step, state)
        return (*rest, jax.tree.map(jnp.zeros_like, sums)), sums

    policy = network.initial(start_key, config)
    zeros = dict.fromkeys(MEASURED, jnp.zeros(()))
    state = (policy, adam.start(policy), staleness.start(policy, config.delay), zeros)
    _, curves = jax.lax.scan(record, state, jnp.arange(config.records))
    return {"step": (1 + jnp.arange(config.records)) * every, **curves}


def act(
    config: TokensConfig, actor: network.Transformer, key: jax.Array
) -> tuple[Episodes, dict[str, Any]]:
    """Fresh prompts, the actor's answers, and their statistics.

    Args:
        config: the run's.
        actor: the policy that acts.
        key: determines prompts and answers.

    Returns:
        The batch, and each of MEASURED on it.
    """
    prompts, uniforms = _random_numbers(config, key)
    answers, log_policy = network.sample(actor, config, prompts, uniforms)
    return _judged(config, prompts, answers, log_policy)


def act_each(
    config: TokensConfig, actors: network.Transformer, key: jax.Array
) -> tuple[Episodes, dict[str, Any]]:
    """As `act`, with a policy of its own for each prompt.

    Args:
        config: the run's.
        actors: the policies, stacked along a first axis of length `config.prompts`.
        key: determines prompts and answers; equal policies answer as in `act`.

    Returns:
        The batch, and each of MEASURED on it.
    """
    prompts, uniforms = _random_numbers(config, key)
    answers, log_policy = jax.vmap(
        lambda actor, prompt, its: network.sample(actor, config, prompt[:, None], its),
        in_axes=(0, 1, 1),
        out_axes=(1, 2),
    )(actors, prompts, uniforms.reshape(config.length, config.prompts, config.samples))
    answers = answers.reshape(config.length, -1)
    return _judged(config, prompts, answers, log_policy.reshape(*log_policy.shape[:2], -1))


def _random_numbers(config: TokensConfig, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Prompts, (H, N), and the uniform numbers that decide the answers, (H, N·S)."""
    # All random numbers of a step in one call: faster than a key for each use.
    uniforms = jax.random.uniform(key, (config.length, config.prompts + config.batch))
    prompts = (uniforms[:, : config.prompts] * config.vocabulary).astype(jnp.int32)
    return prompts, uniforms[:, config.prompts :]


def _judged(
    config: TokensConfig, prompts: jax.Array, answers: jax.Array, log_policy: jax.Array
) -> tuple[Episodes, dict[str, Any]]:
    error, reward, advantage = judge(config, prompts, answers)
    log_prob = taken(config, log_policy, answers)
    seen = {"error": error, "reward": reward, **gates(log_prob, advantage)}
    return Episodes(prompts, answers, log_policy, advantage), seen


def learn(
    config: TokensConfig,
    hyperparameters: dict[str, Any],
    policy: network.Transformer,
    optimiser: adam.Adam,
    episodes: Episodes,
) -> tuple[network.Transformer, adam.Adam]:
    """`epochs` passes over the batch, each in `minibatches` updates on a share of its prompts.

    Args:
        config: the run's.
        hyperparameters: the method's own, by name.
        policy: the policy in training.
        optimiser: its state of Adam.
        episodes: the batch.

    Returns:
        The new policy and the new state of Adam.
    """

    def update(i: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        policy, optimiser = state
        part = _part(config, episodes, i % config.minibatches)
        gradient = jax.grad(lambda p: loss(config, hyperparameters, p, part))(policy)
        return adam.descend(policy, gradient, optimiser, config.learning_rate)

    if config.updates == 1:
        return update(0, (policy, optimiser))
    learned: tuple[Any, Any] = jax.lax.fori_loop(0, config.updates, update, (policy, optimiser))
    return learned


def loss(
    config: TokensConfig, hyperparameters: dict[str, Any], policy: Any, episodes: Episodes
) -> Any:
    """−mean(ω·log π) + β·KL(π ‖ π that acted), with the method's ω.

    Args:
        config: the run's; β is `config.kl`.
        hyperparameters: the method's own, by name.
        policy: π; the loss is differentiable in it.
        episodes: the batch, with log π of the policy that acted.

    Returns:
        A scalar.
    """
    log_policy = network.log_policy(policy, config, episodes.prompts, episodes.answers)
    score = policy_loss(
        taken(config, log_policy, episodes.answers),
        episodes.advantage,
        method=config.method,
        old_log_prob=taken(config, episodes.log_policy, episodes.answers),
        axis=1,
        **hyperparameters,
    )
    gap = jnp.sum(jnp.exp(log_policy) * (log_policy - episodes.log_policy), axis=0)
    return score + config.kl * jnp.mean(gap)


def taken(config: TokensConfig, log_policy: jax.Array, answers: jax.Array) -> jax.Array:
    """log π of the tokens in the answers.

    Args:
        config: sizes.
        log_policy: log π of every token at every place, (M, H, N·S).
        answers: tokens, (H, N·S).

    Returns:
        log π(a), (N, S, H).
    """
    at = jnp.sum(log_policy * jax.nn.one_hot(answers, config.vocabulary, axis=0), axis=0)
    return at.T.reshape(-1, config.samples, config.length)


MEASURED = ("error", "reward", "gate_good", "gate_bad", "surprisal")


def gates(log_prob: jax.Array, advantage: jax.Array) -> dict[str, Any]:
    """DG's gate at η = 1, whatever the method, for answers above and below their baseline."""
    w = gate(log_prob, advantage)

    def mean(of: jax.Array) -> Any:
        counted = of[..., None] * jnp.ones_like(w)
        # Where every answer is as good as its baseline, no gate counts: ½ is the neutral value.
        return (jnp.sum(w * counted) + 0.5e-6) / (jnp.sum(counted) + 1e-6)

    return {
        "gate_good": mean(advantage > 0),
        "gate_bad": mean(advantage < 0),
        "surprisal": -jnp.mean(log_prob),
    }


def _part(config: TokensConfig, episodes: Episodes, i: Any) -> Episodes:
    """The i-th of `minibatches` equal shares of the prompts, with all of their answers."""
    if config.minibatches == 1:
        return episodes
    n, b = config.prompts // config.minibatches, config.batch // config.minibatches
    cut = jax.lax.dynamic_slice_in_dim
    return Episodes(
        cut(episodes.prompts, i * n, n, axis=1),
        cut(episodes.answers, i * b, b, axis=1),
        cut(episodes.log_policy, i * b, b, axis=2),
        cut(episodes.advantage, i * n, n, axis=0),
    )
