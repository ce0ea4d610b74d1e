"""Acting with one policy: chunks of environment steps to learn from, whole episodes to evaluate.

NumPy only: at four observations a step, calling a compiled program costs more than it computes.
All random numbers derive from the run's seed and the chunk's number, so that a chunk can be
collected again.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from delightful.agents.control import environments
from delightful.agents.control.config import CHUNK, ControlConfig
from delightful.agents.control.gaussian import policy

RESTART = 275  # chunks, 25 episodes of the suite, after which environments are made again
LONGEST = 10_000  # steps after which an episode is cut: those of lqr have no limit of their own


class Transitions(NamedTuple):
    """Transitions of several actors: arrays with time first, then actors.

    An episode's last observation has an entry of its own, at which nothing was done: `valid` is 0,
    and the next entry begins another episode.
    """

    observation: Any  # arrays of NumPy's or of JAX
    action: Any  # as sampled; the environment clips it to [−1, 1]
    log_prob: Any  # of the action, under the policy that acted
    reward: Any
    discount: Any  # 0 where the task terminated, 1 elsewhere, time limits included
    valid: Any


class Episodes(NamedTuple):
    """Returns of the episodes that ended in a chunk; and how many were dropped because of NaN."""

    returns: list[float]
    dropped: int


class Actors:
    """The environments of a run, and where each is in its episode."""

    def __init__(self, config: ControlConfig, seed: int, chunk: int = 0) -> None:
        """Make the environments, to collect `chunk` next."""
        self.config, self.seed, self.chunk = config, seed, chunk
        self._begin()

    def _begin(self) -> None:
        """Make the environments again, seeded by how often that was done before this chunk.

        A seed and the actions since are then the environments' whole state, also for simulators
        whose state cannot be read.
        """
        count = self.config.actors
        rng = np.random.default_rng([self.seed, 1, self.chunk // RESTART])
        self._environments = environments.make(self.config.task, count, int(rng.integers(2**31)))
        self.observed, self.actions = self._environments.observed, self._environments.actions
        self._observation = self._environments.reset()
        self._over = np.zeros(count, bool)  # whether the observation is an episode's last
        self._returns = np.zeros(count)

    def restore(self, actions: np.ndarray) -> None:
        """Repeat all actions since the environments were made, (steps, actors, actions)."""
        steps = iter(actions)
        for _ in range(len(actions) // CHUNK):
            self._collect(lambda seen: (next(steps), np.zeros(len(seen), np.float32)))

    def collect(self, weights: Mapping[str, Any] | None) -> tuple[Transitions, Episodes]:
        """Collect the next chunk with the policy of these weights, or uniformly without any."""
        rng = np.random.default_rng([self.seed, 2, self.chunk])

        def act(observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            shape = (len(observation), self.actions)
            if weights is None:  # uniform in [−1, 1]
                action = rng.uniform(-1, 1, shape).astype(np.float32)
                return action, np.full(len(action), -self.actions * np.log(2), np.float32)
            now = policy(self.config, dict(weights), observation)
            action = now.mean + now.deviation * rng.standard_normal(shape, dtype=np.float32)
            return action, now.log_prob(action)

        return self._collect(act)

    def _collect(
        self, act: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    ) -> tuple[Transitions, Episodes]:
        """A chunk of steps; `act` gives actions and their log-densities at observations."""
        if self.chunk % RESTART == 0 and self.chunk:
            self._begin()
        steps: list[Transitions] = []
        returns: list[float] = []
        dropped = 0
        for _ in range(CHUNK):
            action, log_prob = act(self._observation)
            observation, reward, terminated, truncated = self._environments.step(action)
            diverged = ~(np.isfinite(reward) & np.isfinite(observation).all(axis=1))
            valid = ~self._over & ~diverged
            reward = np.where(valid, reward, 0)
            for i in np.flatnonzero(diverged):
                observation[i] = self._environments.reset_one(int(i))
            given = (self._observation, action, log_prob)
            steps.append(Transitions(*given, reward, ~terminated, valid))
            self._observation = observation
            self._over = (terminated | truncated) & ~diverged
            self._returns += reward
            returns += self._returns[self._over].tolist()
            dropped += int(diverged.sum())
            self._returns[self._over | diverged] = 0
        found = Transitions(*(np.array(x, np.float32) for x in zip(*steps, strict=True)))
        self.chunk += 1
        if self.chunk % RESTART == 0:  # what would have followed the last transition is never seen
            found.valid[-1] = 0
        return found, Episodes(returns, dropped)


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
    evaluated: environments.VectorEnvironment, act: Callable[[np.ndarray], np.ndarray]
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
