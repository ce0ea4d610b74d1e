"""The DeepMind Control Suite, stepped by dm_control in Python."""

import functools
import os
from importlib.util import find_spec
from typing import Any

import numpy as np

from delightful.agents.control.environments.scaling import ActionScaling
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
    return suite.load(*task.split(":"), task_kwargs={"random": seed})


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
