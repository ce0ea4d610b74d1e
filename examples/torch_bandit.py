"""Actors that are 10 updates old: PG breaks down, DG does not.

prints:
    pg                 error 0.907
    dg:unit_gain=true  error 0.128
"""

from collections import deque
from copy import deepcopy

import torch

import delightful as dg

CONTEXTS, ACTIONS, DELAY, STEPS = 100, 10, 10, 400
torch.set_num_threads(1)


def train(method: str, seed: int) -> float:
    """The error 1 − π(right action) of a small network after training on a contextual bandit."""
    torch.manual_seed(seed)
    contexts, right = torch.randn(CONTEXTS, 16), torch.randint(ACTIONS, (CONTEXTS,))
    layers = torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, ACTIONS)
    policy = torch.nn.Sequential(*layers)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    actors = deque([deepcopy(policy)], maxlen=DELAY + 1)
    for _ in range(STEPS):
        with torch.no_grad():  # the oldest actor acts, once in each context
            action = torch.distributions.Categorical(logits=actors[0](contexts)).sample()
        log_probs = torch.log_softmax(policy(contexts), -1)
        baseline = log_probs.detach().exp().square().sum(-1)
        advantage = (action == right).float() - baseline
        log_prob = log_probs.gather(-1, action[:, None])[:, 0]
        loss = dg.policy_loss(log_prob, advantage, method=method)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        actors.append(deepcopy(policy))
    with torch.no_grad():
        return 1 - torch.softmax(policy(contexts), -1)[range(CONTEXTS), right].mean().item()


for method in ("pg", "dg:unit_gain=true"):
    errors = [train(method, seed) for seed in range(3)]
    print(f"{method:<18} error {sum(errors) / len(errors):.3f}")
