"""The interface of vectorised environments, and single ones stepped one after the other.

All have float32 observations in one vector and actions in [−1, 1]. The step after an episode's end
ignores its action: it resets the environment and gives the next episode's first observation.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np


class Step(NamedTuple):
    """What one step gives, an entry per environment."""

    observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray  # by the task: nothing follows
    truncated: np.ndarray  # by a time limit: more would have followed


class VectorEnvironment(Protocol):
    """Environments of one task that are stepped together."""

    observed: int  # length of an observation
    actions: int  # length of an action

    def reset(self) -> np.ndarray: ...
    def step(self, action: np.ndarray) -> Step: ...
    def reset_one(self, index: int) -> np.ndarray: ...


class Task(Protocol):
    """One environment."""

    observed: int
    actions: int

    def reset(self) -> np.ndarray: ...
    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool]: ...
    def image(self, size: tuple[int, int]) -> np.ndarray: ...

    @property
    def steps_per_second(self) -> float: ...


class Sequential:
    """Single environments as a vectorised one, stepped one after the other in Python."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._over = [False] * len(tasks)
        self.observed: int = tasks[0].observed
        self.actions: int = tasks[0].actions

    def reset(self) -> np.ndarray:
        self._over = [False] * len(self._over)
        return np.stack([task.reset() for task in self._tasks])

    def step(self, action: np.ndarray) -> Step:
        steps = [self._step(i, one) for i, one in enumerate(action)]
        observation, reward, terminated, truncated = map(np.array, zip(*steps, strict=True))
        return Step(observation, reward.astype(np.float32), terminated, truncated)

    def reset_one(self, index: int) -> np.ndarray:
        self._over[index] = False
        return self._tasks[index].reset()

    def _step(self, index: int, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool]:
        if self._over[index]:
            return self.reset_one(index), 0.0, False, False
        step = self._tasks[index].step(action)
        self._over[index] = step[2] or step[3]
        return step
