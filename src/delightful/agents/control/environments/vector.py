"""Vectorised environments: EnvPool's in C++, or single ones stepped one after the other in Python.

All have float32 observations in one vector and actions in [−1, 1]. The step after an episode's end
ignores its action: it resets the environment and gives the next episode's first observation.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from delightful.agents.control.environments.gym import GymTask
from delightful.agents.control.environments.scaling import ActionScaling
from delightful.agents.control.environments.suite import SuiteTask, observation_names
from delightful.agents.control.tasks import envpool_name


class Step(NamedTuple):
    """What one step gives, an entry per environment."""

    observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray  # by the task: nothing follows
    truncated: np.ndarray  # by a time limit: more would have followed


class EnvPoolSuite:
    """Environments of EnvPool; observations have further parts, zeros, which are left out."""

    def __init__(self, task: str, count: int, seed: int) -> None:
        import envpool

        self._names = observation_names(task)
        self._environments = envpool.make(
            envpool_name(task),
            env_type="gymnasium",
            num_envs=count,
            num_threads=1,  # one process per core
            seed=seed % 2**31,
        )
        self._scale = ActionScaling(self._environments.action_space)
        self.actions = self._environments.action_space.shape[0]
        shapes = (self._environments.observation_space[name].shape for name in self._names)
        self.observed = sum(int(np.prod(shape)) for shape in shapes)

    def reset(self) -> np.ndarray:
        return self._joined(self._environments.reset()[0])

    def step(self, action: np.ndarray) -> Step:
        found, reward, terminated, truncated, _ = self._environments.step(self._scale(action))
        return Step(self._joined(found), reward.astype(np.float32), terminated, truncated)

    def reset_one(self, index: int) -> np.ndarray:
        return np.asarray(self._joined(self._environments.reset(np.array([index]))[0])[0])

    def _joined(self, found: dict[str, np.ndarray]) -> np.ndarray:
        parts = [found[name].reshape(len(found[name]), -1) for name in self._names]
        return np.concatenate(parts, axis=1).astype(np.float32)


class Sequential:
    """Single environments as a vectorised one, stepped one after the other in Python."""

    def __init__(self, tasks: Sequence[GymTask | SuiteTask]) -> None:
        self._tasks = tasks
        self._over = np.zeros(len(tasks), bool)
        self.observed = tasks[0].observed
        self.actions = tasks[0].actions

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
