"""SAC of Stable-Baselines3 and of SBX on tasks of the suite, third-party baselines; and SBX's as a
program of the lab. A run that is stopped starts over: it keeps no checkpoint."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from delightful.agents.control import environments
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.environments.suite import SuiteTask
from delightful.agents.control.rollout import episode_returns, mean_return
from delightful.agents.control.training import Record
from delightful.lab.cells import Curves
from delightful.paper.control.config import SacConfig
from delightful.paper.control.train import curves


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
        buffer_size=1_000_000,
        policy_kwargs={"net_arch": [settings.width, settings.width]},
        train_freq=max(1, settings.every // count),
        gradient_steps=max(1, count // settings.every),
        learning_starts=settings.random_steps,
        seed=seed,
    )


def trainer(library: str, settings: Settings, steps: int) -> Callable[[], object]:
    """A function, compiled, that trains one agent for `steps` environment steps at each call."""
    with warnings.catch_warnings(action="ignore"):
        sac = agent(library, settings, 0)
        sac.learn(settings.random_steps + 100, reset_num_timesteps=False)  # compiles
    return lambda: sac.learn(steps, reset_num_timesteps=False)


def run(config: SacConfig, seeds: np.ndarray) -> Curves:
    """Returns of the mean action along SBX's training, and episodes dropped because of NaN."""
    return curves(partial(_train, config), f"{config.task}, {config.agent}", seeds)


def settings_of(config: SacConfig) -> Settings:
    """As in our runs; a short run must not end before it begins to learn."""
    random = min(Settings.random_steps, config.steps // 5)
    return Settings(config.task, config.every, random_steps=random)


def _train(config: SacConfig, seed: int) -> list[Record]:
    """One run's records, one per evaluation; evaluated by what steps it in training."""
    every = config.steps // config.records
    sac = agent("sbx", settings_of(config), seed)
    records: list[Record] = []
    for number in range(1, config.records + 1):
        sac.learn(every, reset_num_timesteps=False)
        start = int(np.random.default_rng([seed, 3, number]).integers(2**31))
        evaluated = environments.make(config.task, config.episodes, start, engine="dm_control")
        total, finite = episode_returns(
            evaluated, lambda seen: sac.predict(seen, deterministic=True)[0]
        )
        dropped = sum(sac.get_env().get_attr("dropped")) + int((~finite).sum())
        sac.get_env().set_attr("dropped", 0)
        found = {"deterministic": mean_return(total, finite), "dropped": dropped}
        records.append({"step": number * every, **found})
    return records
