"""Evaluation: returns of whole episodes."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from delightful.agents.control import environments
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.environments import VectorEnvironment
from delightful.agents.control.gaussian import policy

LONGEST = 10_000  # steps after which an episode is cut: those of lqr have no limit of their own


def evaluate(
    config: ControlConfig, seed: int, record: int, weights: Mapping[str, Any]
) -> dict[str, float]:
    """Mean returns, `deterministic` and `stochastic`; `dropped` counts the episodes with NaN."""
    rng = np.random.default_rng([seed, 3, record])
    half = config.episodes
    evaluated = environments.make(config.task, 2 * half, int(rng.integers(2**31)))

    def act(observation: np.ndarray) -> np.ndarray:
        now = policy(config, dict(weights), observation)
        noise = rng.standard_normal(now.mean.shape, dtype=np.float32)
        noise[:half] = 0
        return np.asarray(now.mean + now.deviation * noise)

    total, finite = episode_returns(evaluated, act)
    mean, sampled = map(mean_return, np.split(total, 2), np.split(finite, 2))
    return {"deterministic": mean, "stochastic": sampled, "dropped": int((~finite).sum())}


def episode_returns(
    evaluated: VectorEnvironment, act: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The return of one episode in each environment, and which stayed finite: NaN ends one."""
    seen = evaluated.reset()
    running, finite, total = np.ones(len(seen), bool), np.ones(len(seen), bool), np.zeros(len(seen))
    for _ in range(LONGEST):
        seen, reward, terminated, truncated = evaluated.step(act(seen))
        diverged = ~(np.isfinite(reward) & np.isfinite(seen).all(axis=1))
        seen = np.where(diverged[:, None], 0, seen)
        total += np.where(running & ~diverged, reward, 0)
        finite &= ~(running & diverged)
        running &= ~(terminated | truncated | diverged)
        if not running.any():
            break
    return total, finite


def mean_return(total: np.ndarray, finite: np.ndarray) -> float:
    """Mean over the episodes that stayed finite; if none did, over all, up to where NaN came."""
    return float(total[finite].mean() if finite.any() else total.mean())
