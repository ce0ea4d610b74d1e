"""What actors do between two hearings of the learner: a chunk of steps with one policy.

NumPy only: at four observations a step, calling a compiled program costs more than it computes.
All chance comes from the run's seed and the chunk's number, so that a chunk can be made again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from delightful.agents.control import environments, policy
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.transitions import CHUNK, Rows

RESTART = 275  # chunks, 25 such episodes, after which environments are made anew


class Episodes(NamedTuple):
    """Those that ended in a chunk, and how many were dropped: the simulator had gone wrong."""

    returns: list[float]
    dropped: int


Policy = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def generator(*numbers: int) -> np.random.Generator:
    return np.random.default_rng(list(numbers))


def gaussian(
    config: ControlConfig, weights: Mapping[str, Any], chance: np.random.Generator
) -> Policy:
    """Draws from the policy, and their log-densities."""

    def act(observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, deviation = policy.gaussian(config, dict(weights), observation)
        noise = chance.standard_normal(mean.shape, dtype=np.float32)
        action = mean + deviation * noise
        return action, policy.log_density(mean, deviation, action)

    return act


def uniform(chance: np.random.Generator, actions: int) -> Policy:
    def act(observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count = len(observation)
        action = chance.uniform(-1, 1, (count, actions)).astype(np.float32)
        return action, np.full(count, -actions * np.log(2), np.float32)

    return act


def _again(actions: np.ndarray) -> Policy:
    """What was done, (rows, actors, actions), whatever is observed."""
    rows = iter(actions)
    return lambda observation: (next(rows), np.zeros(len(observation), np.float32))


@dataclass
class Actors:
    """The environments, and where each stands in its episode."""

    config: ControlConfig
    seed: int
    chunk: int = 0  # the next one
    _pool: environments.Pool = field(init=False)

    def __post_init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        """Make the environments anew, in the generation that the chunk belongs to.

        What has happened since is then all there is to know of them: a seed and actions are the
        whole state, of simulators that give theirs away and of those that do not.
        """
        chance = generator(self.seed, 1, self.chunk // RESTART)
        self._pool = environments.make(
            self.config.task, self.config.actors, int(chance.integers(2**31))
        )
        self.observed, self.actions = self._pool.observed, self._pool.actions
        self._observation = self._pool.reset()
        count = self.config.actors
        self._over = np.zeros(count, bool)  # whether the observation is an episode's last
        self._returns = np.zeros(count)

    def restore(self, actions: np.ndarray) -> None:
        """Do again what was done since the environments were made: (rows, actors, actions)."""
        for part in actions.reshape(-1, CHUNK, *actions.shape[1:]):
            self._collect(_again(part))

    def collect(self, weights: Mapping[str, Any] | None) -> tuple[Rows, Episodes]:
        """The next chunk, with uniform actions if there are no weights yet."""
        chance = generator(self.seed, 2, self.chunk)
        if weights is None:
            return self._collect(uniform(chance, self.actions))
        return self._collect(gaussian(self.config, weights, chance))

    def _collect(self, act: Policy) -> tuple[Rows, Episodes]:
        if self.chunk % RESTART == 0 and self.chunk:
            self._begin()
        count = self.config.actors
        one = np.zeros((CHUNK, count), np.float32)
        rows = Rows(
            np.zeros((CHUNK, count, self.observed), np.float32),
            np.zeros((CHUNK, count, self.actions), np.float32),
            one,
            one.copy(),
            one.copy(),
            one.copy(),
        )
        returns: list[float] = []
        dropped = 0
        for t in range(CHUNK):
            action, log_prob = act(self._observation)
            step = self._pool.step(action)
            wrong = ~(np.isfinite(step.reward) & np.isfinite(step.observation).all(axis=1))
            valid = ~self._over & ~wrong
            reward = np.where(valid, step.reward, 0)
            observation = step.observation
            for i in np.flatnonzero(wrong):
                observation[i] = self._pool.reset_one(int(i))
            now = Rows(self._observation, action, log_prob, reward, ~step.ended, valid)
            for kept, new in zip(rows, now, strict=True):
                kept[t] = new
            self._observation, self._over = observation, (step.ended | step.cut) & ~wrong
            self._returns += reward
            returns += self._returns[self._over].tolist()
            dropped += int(wrong.sum())
            self._returns[self._over | wrong] = 0
        self.chunk += 1
        if self.chunk % RESTART == 0:  # what would have followed the last row is never seen
            rows.valid[-1] = 0
        return rows, Episodes(returns, dropped)


def evaluate(
    config: ControlConfig, seed: int, record: int, weights: Mapping[str, Any]
) -> tuple[float, float, int]:
    """Mean return of whole episodes: of the mean action, and of drawn ones; and how many others
    were dropped, since the simulator had gone wrong."""
    chance = generator(seed, 3, record)
    half = config.episodes
    pool = environments.make(config.task, 2 * half, int(chance.integers(2**31)))

    def act(observation: np.ndarray) -> np.ndarray:
        mean, deviation = policy.gaussian(config, dict(weights), observation)
        noise = chance.standard_normal(mean.shape, dtype=np.float32)
        noise[:half] = 0
        action: np.ndarray = mean + deviation * noise
        return action

    total, sound = environments.returns(pool, 2 * half, act)
    mean, drawn = (
        environments.mean_return(total[k], sound[k]) for k in np.split(np.arange(2 * half), 2)
    )
    return mean, drawn, int((~sound).sum())
