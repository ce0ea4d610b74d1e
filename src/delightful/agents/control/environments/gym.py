"""Gymnasium's tasks with continuous actions."""

import functools
from importlib.util import find_spec

import numpy as np

from delightful.agents.control.environments.scaling import ActionScaling
from delightful.lab.errors import LabError, install, unknown


class GymTask:
    """One Gymnasium environment; parts of observations are joined, and choices one-hot."""

    def __init__(self, name: str, seed: int, *, render: bool = False) -> None:
        if find_spec("gymnasium") is None:
            raise LabError(f"gym:{name} needs gymnasium: {install('control')}.")
        import gymnasium

        try:
            options = {"render_mode": "rgb_array"} if render else {}
            self._environment = gymnasium.make(name, **options)
        except gymnasium.error.NameNotFound:
            raise unknown("Gymnasium task", name, gymnasium.registry) from None
        except (gymnasium.error.Error, ImportError) as error:
            raise LabError(f"gym:{name} cannot be made: {error}") from None
        space, seen = self._environment.action_space, self._environment.observation_space
        if not isinstance(space, gymnasium.spaces.Box):
            raise LabError(
                f"gym:{name} has {type(space).__name__} actions; only continuous (Box) ones "
                "can be trained on, as in gym:Pendulum-v1."
            )
        if not seen.is_np_flattenable:
            raise LabError(
                f"gym:{name} has {type(seen).__name__} observations; only those of a fixed length "
                "can be trained on, as in gym:Pendulum-v1."
            )
        self._shape = space.shape
        self._scale = ActionScaling(space)
        self.actions = int(np.prod(space.shape))
        self.observed = gymnasium.spaces.flatdim(seen)
        self._flat = functools.partial(gymnasium.spaces.flatten, seen)
        self._seed: int | None = seed

    def reset(self) -> np.ndarray:
        observation, _ = self._environment.reset(seed=self._seed)
        self._seed = None  # given once: later episodes continue the same random numbers
        return np.asarray(self._flat(observation), np.float32)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool]:
        scaled = self._scale(action.reshape(self._shape))
        observation, reward, terminated, truncated, _ = self._environment.step(scaled)
        flat = np.asarray(self._flat(observation), np.float32)
        return flat, float(reward), terminated, truncated and not terminated

    @property
    def steps_per_second(self) -> float:
        return float(self._environment.metadata.get("render_fps", 30))

    def image(self, _: tuple[int, int]) -> np.ndarray:
        """(height, width, 3), in the size that the task itself chooses."""
        return np.asarray(self._environment.render())
