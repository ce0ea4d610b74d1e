"""DG in Stable-Baselines3's PPO: one class and one argument in place of `PPO`.

Needs `pip install -e '.[sb3]'`. CartPole shows that it runs, not that it helps: docs/plugins.md
compares it with plain PPO.

prints:
    before training: return 19
    after training: return 167
    delight/gate_mean_positive 0.52
    delight/gate_mean_negative 0.33
    delight/neutral 0.92
"""

import torch
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

from delightful.plugins.sb3 import DelightConfig, DelightPPO

torch.set_num_threads(1)
model = DelightPPO(
    "MlpPolicy",
    make_vec_env("CartPole-v1", n_envs=4, seed=0),
    n_steps=64,
    batch_size=64,
    gamma=0.98,
    gae_lambda=0.8,
    seed=0,
    device="cpu",
    delight=DelightConfig(whiten="scale"),  # advantages are not of order one: scale the delight
)


def mean_return() -> float:
    """Mean return of 20 episodes, with sampled actions."""
    env = make_vec_env("CartPole-v1", n_envs=4, seed=1)
    return evaluate_policy(model, env, n_eval_episodes=20, deterministic=False)[0]


print(f"before training: return {mean_return():.0f}")
model.learn(15_000)
print(f"after training: return {mean_return():.0f}")
for name in ("gate_mean_positive", "gate_mean_negative", "neutral"):
    print(f"delight/{name} {model.logger.name_to_value[f'delight/{name}']:.2f}")
