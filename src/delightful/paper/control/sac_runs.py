"""SBX's SAC as a program of the lab. A run that is stopped starts anew: it keeps no checkpoint."""

from functools import partial
from typing import Any

import numpy as np

from delightful.agents.control import environments
from delightful.agents.control.rollout import episode_returns, mean_return
from delightful.agents.control.training import Record
from delightful.lab.cells import Curves
from delightful.paper.control import sac
from delightful.paper.control.config import SacConfig
from delightful.paper.control.train import curves


def run(config: SacConfig, seeds: np.ndarray) -> Curves:
    """Returns of the mean action along SBX's training, and episodes dropped because of NaN."""
    return curves(partial(train, config), f"{config.task}, {config.agent}", seeds)


def train(config: SacConfig, seed: int) -> list[Record]:
    """One run's records, one per evaluation."""
    every = config.steps // config.records
    agent = sac.agent("sbx", settings(config), seed)
    records: list[Record] = []
    for number in range(1, config.records + 1):
        agent.learn(every, reset_num_timesteps=False)
        total, finite = evaluate(agent, config, seed, number)
        dropped = sum(agent.get_env().get_attr("dropped")) + int((~finite).sum())
        agent.get_env().set_attr("dropped", 0)
        found = {"deterministic": mean_return(total, finite), "dropped": dropped}
        records.append({"step": number * every, **found})
    return records


def settings(config: SacConfig) -> sac.Settings:
    """As in our runs; a short run must not end before it begins to learn."""
    random = min(sac.Settings.random_steps, config.steps // 5)
    return sac.Settings(config.task, config.every, random_steps=random)


def evaluate(
    agent: Any, config: SacConfig, seed: int, number: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns of the mean action, and which episodes stayed finite; stepped as in training."""
    start = int(np.random.default_rng([seed, 3, number]).integers(2**31))
    evaluated = environments.make(config.task, config.episodes, start, engine="dm_control")
    return episode_returns(evaluated, lambda seen: agent.predict(seen, deterministic=True)[0])
