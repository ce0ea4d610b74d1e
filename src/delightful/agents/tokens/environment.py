"""The sequence environment: prompts, what the right answers are, and what an answer earns.

Arrays have samples last: prompts are (H, N), answers (H, N·S), the S answers of a prompt side by
side.
"""

from typing import Any

import jax
import jax.numpy as jnp

from delightful.agents.tokens.config import REWARDS, TASKS, TokensConfig


def targets(task: str | jax.Array, vocabulary: int, prompts: jax.Array) -> Any:
    """The right answer to each prompt; a flipped token is the next one, 1 − x if there are two.

    task: one of TASKS or its place among them, which may be traced.
    """
    place = TASKS.index(task) if isinstance(task, str) else task
    ordered = jnp.where(place >= TASKS.index("reverse-copy"), prompts[::-1], prompts)
    return (ordered + place % 2) % vocabulary  # every second task flips


def rewards(reward: str | jax.Array, right: jax.Array) -> Any:
    """One reward per answer, from which of its tokens are right, (H, answers) of 0 and 1.

    reward: one of REWARDS or its place among them, which may be traced.
    """
    place = REWARDS.index(reward) if isinstance(reward, str) else reward
    until_wrong = jnp.cumprod(right, axis=0)
    kinds = jnp.mean(right, axis=0), jnp.mean(until_wrong, axis=0), until_wrong[-1]
    return jax.lax.select_n(jnp.asarray(place, jnp.int32), *kinds)


def advantages(baseline: str, reward: jax.Array, length: int) -> Any:
    """Rewards (N, S) less their mean, over each prompt's samples or over all.

    Computed in counts of tokens, whose sums are exact: equally good answers must have an advantage
    of exactly 0, since methods such as PMPO use only its sign.
    """
    points = jnp.round(reward * length)
    axis, count = (1, reward.shape[1]) if baseline == "prompt" else (None, reward.size)
    return (count * points - jnp.sum(points, axis=axis, keepdims=True)) / (count * length)


def earned(config: TokensConfig, prompts: jax.Array, answers: jax.Array) -> tuple[Any, Any]:
    """Which tokens are right, and what the answers earn.

    Args:
        config: task and reward.
        prompts: tokens, (H, N).
        answers: tokens, (H, N·S).

    Returns:
        1 where a token is right and 0 elsewhere, (H, N·S), and the reward of each answer, (N, S).
    """
    wanted = jnp.repeat(targets(config.task, config.vocabulary, prompts), config.samples, axis=1)
    right = (answers == wanted).astype(jnp.float32)
    return right, rewards(config.reward, right).reshape(-1, config.samples)


def judge(config: TokensConfig, prompts: jax.Array, answers: jax.Array) -> tuple[Any, Any, Any]:
    """How wrong the answers are, what they earn, and how much above their baseline.

    Args:
        config: task, reward and baseline.
        prompts: tokens, (H, N).
        answers: tokens, (H, N·S).

    Returns:
        The share of wrong tokens, the mean reward, and the advantage U of each answer, (N, S).
    """
    right, reward = earned(config, prompts, answers)
    return jnp.mean(1 - right), jnp.mean(reward), advantages(config.baseline, reward, config.length)
