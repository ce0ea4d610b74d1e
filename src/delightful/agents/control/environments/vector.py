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
        self._over = np.zeros(len(tasks), bool)
        self.observed: int = tasks[0].observed
        self.actions: int = tasks[0].actions

    def reset(self) -> np.ndarray:
        self._over[:] = False
        return np.stack([task.reset() for task in self._tasks])

    def step(self, action: np.ndarray) -> Step:
        steps = [
            (task.reset(), 0.0, False, False) if over else task.step(one)
            for task, over, one in zip(self._tasks, self._over, action, strict=True)
        ]
        observation, reward, terminated, truncated = map(np.array, zip(*steps, strict=True))
        self._over = terminated | truncated
        return Step(observation, reward.astype(np.float32), terminated, truncated)

    def reset_one(self, index: int) -> np.ndarray:
        self._over[index] = False
        return self._tasks[index].reset()
