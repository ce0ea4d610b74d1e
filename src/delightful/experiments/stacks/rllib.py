"""RLlib: PPO with its own defaults, in this process."""

from dataclasses import asdict
from typing import Any

import ray
from ray.rllib.algorithms.ppo import PPOConfig

from delightful.experiments.stacks.config import StackConfig
from delightful.plugins.gating import DelightConfig
from delightful.plugins.rllib import DelightPPOConfig

# Where RLlib's defaults are for clusters: smaller batches, fewer passes, larger steps.
SETTINGS: dict[str, Any] = {
    "train_batch_size_per_learner": 1024,
    "minibatch_size": 128,
    "num_epochs": 6,
    "lr": 3e-4,
    "lambda_": 0.95,
    "vf_clip_param": 10_000.0,
}
PER_TASK: dict[str, dict[str, Any]] = {"Pendulum-v1": {"gamma": 0.9}}


def scores(
    config: StackConfig, delight: DelightConfig | None, seed: int
) -> list[tuple[int, float]]:
    """(environment steps, mean return of the latest episodes) after each iteration."""
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    base = PPOConfig() if delight is None else DelightPPOConfig().delight(**asdict(delight))
    algorithm = (
        base.environment(config.task)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=4)
        .learners(num_learners=0)
        .training(**{**SETTINGS, **PER_TASK.get(config.task, {})})
        .debugging(seed=seed, log_level="ERROR")
        .build_algo()
    )
    found: list[tuple[int, float]] = []
    try:
        while not found or found[-1][0] < config.steps:
            result = algorithm.train()
            steps = int(result["num_env_steps_sampled_lifetime"])
            score = result["env_runners"].get("episode_return_mean")
            if score is not None:
                found.append((min(steps, config.steps), float(score)))
    finally:
        algorithm.stop()
    return found
