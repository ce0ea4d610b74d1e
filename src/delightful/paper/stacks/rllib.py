"""RLlib: PPO in this process."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

from delightful.lab.cluster import starting_ray
from delightful.paper.stacks.config import Scores, StackConfig
from delightful.plugins.gating import DelightConfig
from delightful.plugins.rllib import DelightPPOConfig

# RLlib's defaults are for clusters: smaller batches, networks and minibatches here.
SETTINGS: dict[str, Any] = {
    "train_batch_size_per_learner": 1024,
    "lambda_": 0.95,
    "vf_clip_param": 10_000.0,
    "grad_clip": 0.5,
    "grad_clip_by": "global_norm",
}
PER_TASK: dict[str, dict[str, Any]] = {
    "CartPole-v1": {"lr": 3e-4, "minibatch_size": 128, "num_epochs": 6},
    "Pendulum-v1": {"lr": 1e-3, "minibatch_size": 64, "num_epochs": 10, "gamma": 0.9},
}


def algorithm(
    task: str,
    delight: DelightConfig | None,
    seed: int,
    on_sample_end: Callable[..., None] | None = None,
) -> Any:
    options = {"include_dashboard": False, "log_to_driver": False, "ignore_reinit_error": True}
    with starting_ray():
        # Not one that somebody else has started, whose address Ray would find in a file.
        ray.init("local", num_cpus=1, **options)
    base = PPOConfig() if delight is None else DelightPPOConfig().delight(**asdict(delight))
    model = DefaultModelConfig(
        fcnet_hiddens=[64, 64],
        fcnet_activation="tanh",
        vf_share_layers=False,
        free_log_std=task == "Pendulum-v1",
    )
    return (
        base.environment(task)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=4)
        .learners(num_learners=0)
        .rl_module(model_config=model)
        .training(**SETTINGS, **PER_TASK.get(task, PER_TASK["CartPole-v1"]))
        .callbacks(on_sample_end=on_sample_end)
        .debugging(seed=seed, log_level="ERROR")
        .build_algo()
    )


def scores(config: StackConfig, delight: DelightConfig | None, seed: int) -> Scores:
    """(environment steps at the end of its iteration, return) of every episode."""
    found: Scores = []
    so_far: dict[str, float] = defaultdict(float)  # RLlib hands out long episodes in pieces
    steps = 0

    def sampled(*, samples: Any, **_: Any) -> None:
        for piece in samples:
            so_far[piece.id_] += float(piece.get_return())
            if piece.is_done:
                found.append((min(steps, config.steps), so_far.pop(piece.id_)))

    training = algorithm(config.task, delight, seed, sampled)
    try:
        while steps < config.steps:
            steps += SETTINGS["train_batch_size_per_learner"]
            training.train()
    finally:
        training.stop()
    return found
