"""REINFORCE on CartPole-v1 with stale actors: whole episodes of a policy that is 10 updates old.

    python examples/torch_cartpole.py [DELAY RATE]

It speaks for DG and against it. Mean returns of PG / DG at the end, 5 seeds, equal gain:

    DELAY        0          2          5          10         20
    RATE 1e-2    497 / 412  14 / 418   84 / 59    304 / 459  64 / 289
    RATE 3e-3    284 / 185  189 / 159             82 / 106

Too small a temperature keeps the policy random (entropy near log 2): docs/when-not-to-use.md.

prints:
    pg                                return 304, entropy 0.21
    dg:unit_gain=true                 return 459, entropy 0.42
    dg:unit_gain=true,temperature=0.1 return 49, entropy 0.66
"""

import sys
from collections import deque
from copy import deepcopy
from statistics import mean

import gymnasium as gym
import torch

import delightful as dg

EPISODES, UPDATES, SEEDS, GAMMA = 8, 80, 5, 0.99
DELAY, RATE = (int(sys.argv[1]), float(sys.argv[2])) if len(sys.argv) > 1 else (10, 1e-2)
torch.set_num_threads(1)


@torch.no_grad()
def sample(actor: torch.nn.Module, env: gym.vector.VectorEnv, seed: int) -> list[torch.Tensor]:
    """One episode of each environment; the mask `alive` ends each at its own end."""
    steps, alive, (observation, _) = [], torch.ones(EPISODES, dtype=bool), env.reset(seed=seed)
    while alive.any():
        observation = torch.as_tensor(observation)
        action = torch.softmax(actor(observation), -1).multinomial(1)[:, 0]
        steps.append((observation, action, alive))
        observation, _, terminated, truncated, _ = env.step(action.numpy())
        alive = alive & ~torch.as_tensor(terminated | truncated)
    return [torch.stack(part) for part in zip(*steps, strict=True)]


def advantages(alive: torch.Tensor) -> torch.Tensor:
    """(1 − γ)·(reward-to-go − its mean over the episodes that are alive at that time)."""
    to_go = torch.zeros(len(alive) + 1, EPISODES)
    for t in reversed(range(len(alive))):  # the reward is 1 until the pole falls
        to_go[t] = alive[t] * (1 + GAMMA * to_go[t + 1])
    baseline = to_go[:-1].sum(1, keepdim=True) / alive.sum(1, keepdim=True)
    return (1 - GAMMA) * (to_go[:-1] - baseline)


def train(method: str, seed: int) -> tuple[float, float]:
    """The mean return over the last quarter of training, and the entropy at its end."""
    torch.manual_seed(seed)
    env = gym.make_vec("CartPole-v1", num_envs=EPISODES)
    policy = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=RATE)
    actors = deque([deepcopy(policy)], maxlen=DELAY + 1)
    returns = []
    for update in range(UPDATES):
        observation, action, alive = sample(actors[0], env, seed=10_000 * seed + update)
        log_probs = torch.log_softmax(policy(observation), -1)
        log_prob = log_probs.gather(-1, action[..., None])[..., 0]
        loss = dg.policy_loss(log_prob, advantages(alive), method=method, mask=alive)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        actors.append(deepcopy(policy))
        returns.append(alive.sum().item() / EPISODES)
    return mean(returns[-UPDATES // 4 :]), -dg.entropy_bonus(log_probs.detach(), mask=alive).item()


for method in ("pg", "dg:unit_gain=true", "dg:unit_gain=true,temperature=0.1"):
    returns, entropies = zip(*(train(method, seed) for seed in range(SEEDS)), strict=True)
    print(f"{method:<33} return {mean(returns):.0f}, entropy {mean(entropies):.2f}")
