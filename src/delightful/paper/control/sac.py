"""SAC of Stable-Baselines3 and of SBX on tasks of the suite: third-party baselines."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from delightful.agents.control.config import ControlConfig
from delightful.agents.control.environments.suite import SuiteTask


class Task(gymnasium.Env):  # type: ignore[misc]
    """A dm_control task as a Gymnasium environment; an episode with NaN is truncated."""

    dropped = 0  # episodes in which the simulator gave NaN

    def __init__(self, name: str, seed: int) -> None:
        self._task = SuiteTask(name, seed)
        self._seen = np.zeros(self._task.observed, np.float32)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (self._task.observed,))
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (self._task.actions,))

    def reset(self, **_: Any) -> tuple[np.ndarray, dict[str, Any]]:
        self._seen = self._task.reset()
        return self._seen, {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated = self._task.step(action)
        if not (np.isfinite(reward) and np.isfinite(observation).all()):
            self.dropped += 1  # a single NaN in a batch would make all weights NaN
            return self._seen, 0.0, False, True, {}
        self._seen = observation
        return observation, reward, terminated, truncated, {}


@dataclass(frozen=True)
class Settings:
    """The hyperparameters that SAC shares with our runs; all others are the library's defaults."""

    task: str
    every: int
    batch: int = ControlConfig().batch
    width: int = ControlConfig().width
    learning_rate: float = ControlConfig().learning_rate
    discount: float = ControlConfig().discount
    actors: int = ControlConfig().actors
    random_steps: int = ControlConfig().random_steps
    replay: int = 1_000_000


def agent(library: str, settings: Settings, seed: int) -> Any:
    """SAC of "sb3" or "sbx", with as many updates per environment step as our runs."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    if library == "sb3":
        from stable_baselines3 import SAC
    else:
        from sbx import SAC
    count = settings.actors
    seeds = np.random.default_rng([seed, 4]).integers(2**31, size=count)
    made = [partial(Task, settings.task, int(one)) for one in seeds]
    return SAC(
        "MlpPolicy",
        DummyVecEnv(made),
        learning_rate=settings.learning_rate,
        batch_size=settings.batch,
        gamma=settings.discount,
        buffer_size=settings.replay,
        policy_kwargs={"net_arch": [settings.width, settings.width]},
        train_freq=max(1, settings.every // count),
        gradient_steps=max(1, count // settings.every),
        learning_starts=settings.random_steps,
        seed=seed,
    )


def trainer(library: str, settings: Settings, steps: int) -> Callable[[], object]:
    """A function, compiled, that trains one agent for `steps` environment steps at each call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sac = agent(library, settings, 0)
        sac.learn(settings.random_steps + 100, reset_num_timesteps=False)  # compiles
    return lambda: sac.learn(steps, reset_num_timesteps=False)
