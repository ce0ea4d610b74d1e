"""Stable-Baselines3: PPO and A2C, with its defaults or settings with which plain PPO learns."""

from copy import deepcopy
from itertools import count
from typing import Any

from stable_baselines3 import A2C, PPO
from stable_baselines3.common.env_util import make_vec_env

from delightful.paper.stacks.config import Scores, StackConfig
from delightful.plugins.gating import DelightConfig
from delightful.plugins.sb3 import DelightA2C, DelightPPO

KINDS: dict[str, tuple[Any, Any]] = {"ppo": (PPO, DelightPPO), "a2c": (A2C, DelightA2C)}

# Where its defaults would take longer to learn the task.
SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    ("ppo", "CartPole-v1"): {"n_steps": 64, "batch_size": 64, "gae_lambda": 0.8, "gamma": 0.98},
    ("ppo", "Pendulum-v1"): {"n_steps": 256, "gamma": 0.9, "learning_rate": 1e-3},
}


def model(algorithm: str, task: str, delight: DelightConfig | None, seed: int) -> Any:
    plain, gated = KINDS[algorithm]
    env = make_vec_env(task, n_envs=4, seed=seed)
    settings = SETTINGS.get((algorithm, task), {})
    kind, options = (plain, {}) if delight is None else (gated, {"delight": delight})
    return kind("MlpPolicy", env, seed=seed, device="cpu", **settings, **options)


def act_with_old_weights(model: Any, staleness: int) -> None:
    """Let a copy of the policy fill the rollout buffer: actions, values and log-probabilities.

    Its weights are renewed before every (staleness + 1)-th rollout, so that they are 0 to
    `staleness` calls of `train` old.
    """
    collect, actor, rollouts = model.collect_rollouts, deepcopy(model.policy), count()

    def collect_rollouts(*args: Any, **kwargs: Any) -> Any:
        learner = model.policy
        if next(rollouts) % (staleness + 1) == 0:
            actor.load_state_dict(learner.state_dict())
        model.policy = actor
        try:
            return collect(*args, **kwargs)
        finally:
            model.policy = learner

    model.collect_rollouts = collect_rollouts


def scores(config: StackConfig, delight: DelightConfig | None, seed: int) -> Scores:
    """(step, return) of every episode."""
    found: Scores = []
    training = model(config.algorithm, config.task, delight, seed)
    act_with_old_weights(training, config.staleness)

    def on_step(names: dict[str, Any], _: Any) -> bool:
        ended = [info["episode"] for info in names["infos"] if "episode" in info]
        found.extend((training.num_timesteps, float(episode["r"])) for episode in ended)
        return True

    training.learn(config.steps, callback=on_step)
    return found
