"""DG on MNIST in plain eager PyTorch, as a user would write it."""

from itertools import pairwise

import torch

from delightful.paper.mnist.config import DIGITS, PIXELS, MnistConfig
from delightful.paper.mnist.data import load


class Trainer:
    def __init__(self, config: MnistConfig, seed: int = 0) -> None:
        torch.manual_seed(seed)
        data = load()
        self.images = torch.from_numpy(data.train_images.copy()).float() / 255
        self.labels = torch.from_numpy(data.train_labels.copy()).long()
        sizes = [PIXELS, *[config.width] * config.layers]
        layers: list[torch.nn.Module] = []
        for n_in, n_out in pairwise(sizes):
            layers += [torch.nn.Linear(n_in, n_out), torch.nn.ReLU()]
        self.policy = torch.nn.Sequential(*layers, torch.nn.Linear(config.width, DIGITS))
        self.optimiser = torch.optim.Adam(self.policy.parameters(), lr=config.learning_rate)
        self.batch = config.batch

    def train(self, steps: int) -> float:
        """The mean error of the last hundred steps."""
        errors = []
        for _ in range(steps):
            chosen = torch.randint(len(self.images), (self.batch,))
            log_policy = torch.log_softmax(self.policy(self.images[chosen]), dim=1)
            policy = log_policy.detach().exp()
            action = torch.multinomial(policy, 1)
            right = (action[:, 0] == self.labels[chosen]).float()
            advantage = right - (policy**2).sum(dim=1)
            log_prob = log_policy.gather(1, action)[:, 0]
            gate = torch.sigmoid(-advantage * log_prob.detach())
            loss = -(gate * advantage * log_prob).mean()
            self.optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
            errors.append(1 - right.mean())
        return float(torch.stack(errors[-100:]).mean())
