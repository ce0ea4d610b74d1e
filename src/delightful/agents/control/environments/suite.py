"""The DeepMind Control Suite, stepped by dm_control in Python or by EnvPool in C++."""

import functools
import os
from importlib.util import find_spec
from typing import Any

import numpy as np

from delightful.agents.control.environments.scaling import ActionScaling
from delightful.agents.control.environments.vector import Step
from delightful.agents.control.tasks import envpool_name
from delightful.lab.errors import LabError, install


def load(task: str, seed: int = 0) -> Any:
    """A task of the suite as dm_control makes it."""
    os.environ.setdefault("MUJOCO_GL", "disabled")  # importing dm_control must open no window
    if find_spec("dm_control") is None:
        raise LabError(
            f"{task} needs dm_control: {install('control')}, "
            "or choose a task of Gymnasium's, such as gym:Pendulum-v1."
        )
    import absl.logging
    from dm_control import suite

    absl.logging.set_verbosity(absl.logging.ERROR)  # the models' own deprecations
    domain, _, name = task.partition(":")
    return suite.load(domain, name, task_kwargs={"random": seed})


@functools.cache
def observation_names(task: str) -> tuple[str, ...]:
    """The parts of a suite task's observation, in the order in which they are joined."""
    return tuple(sorted(load(task).observation_spec()))


class SuiteTask:
    """One environment of dm_control."""

    def __init__(self, task: str, seed: int) -> None:
        self._names = observation_names(task)
        self._environment = load(task, seed)
        bounds = self._environment.action_spec()
        self._scale = ActionScaling(bounds)
        self.actions = bounds.shape[0]
        spec = self._environment.observation_spec()
        self.observed = sum(int(np.prod(spec[name].shape)) for name in self._names)

    def reset(self) -> np.ndarray:
        return self._joined(self._environment.reset().observation)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool]:
        from dm_control.rl.control import PhysicsError

        try:
            step = self._environment.step(self._scale(action))
        except PhysicsError:  # the simulation diverged: reported as NaN, as EnvPool does
            return np.full(self.observed, np.nan, np.float32), np.nan, False, False
        over = step.last()
        terminated = over and step.discount == 0
        return self._joined(step.observation), step.reward, terminated, over and not terminated

    @property
    def steps_per_second(self) -> float:
        return 1 / float(self._environment.control_timestep())

    def image(self, size: tuple[int, int]) -> np.ndarray:
        """(height, width, 3), of `size`."""
        return np.asarray(self._environment.physics.render(*size, camera_id=0))

    def _joined(self, found: dict[str, np.ndarray]) -> np.ndarray:
        return np.concatenate([np.ravel(found[name]) for name in self._names]).astype(np.float32)


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
