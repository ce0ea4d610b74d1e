"""SAC of Stable-Baselines3 and of SBX on a task of the suite, set up as their users would."""

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from delightful.experiments.control.config import ControlConfig
from delightful.experiments.control.pools import SuiteTask


class Task(gymnasium.Env[np.ndarray, np.ndarray]):
    """A task of dm_control with Gymnasium's interface."""

    def __init__(self, name: str, seed: int) -> None:
        self._task = SuiteTask(name, seed)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (self._task.observed,))
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (self._task.actions,))

    def reset(self, **_: Any) -> tuple[np.ndarray, dict[str, Any]]:
        return self._task.reset(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        observation, reward, ended, cut = self._task.step(action)
        return observation, reward, ended, cut, {}


def agent(library: str, task: str, config: ControlConfig, seed: int = 0, **options: Any) -> Any:
    """SAC with our networks' width, batch, rate and updates per environment step."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    if library == "sb3":
        from stable_baselines3 import SAC
    else:
        from sbx import SAC
    count = config.actors
    environments = DummyVecEnv([lambda i=i: Task(task, 1000 * seed + i) for i in range(count)])
    return SAC(
        "MlpPolicy",
        environments,
        learning_rate=config.learning_rate,
        batch_size=config.batch,
        gamma=config.discount,
        policy_kwargs={"net_arch": [config.width, config.width]},
        train_freq=max(1, config.every // count),
        gradient_steps=1,
        learning_starts=config.random_steps,
        seed=seed,
        **options,
    )


def trainer(library: str, task: str, config: ControlConfig, steps: int) -> Callable[[], object]:
    """Trains for `steps` environment steps at each call, going on from the last."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sac = agent(library, task, config, buffer_size=config.replay)
        sac.learn(config.random_steps + 100, reset_num_timesteps=False)  # compiles
    return lambda: sac.learn(steps, reset_num_timesteps=False)
