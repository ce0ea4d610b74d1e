"""torchrl: a plain on-policy loop, as its tutorials have it, around its A2C or REINFORCE loss."""

from copy import deepcopy
from functools import partial
from typing import Any

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import DoubleToFloat, GymEnv, RewardSum, StepCounter, TransformedEnv
from torchrl.modules import (
    MLP,
    NormalParamExtractor,
    OneHotCategorical,
    ProbabilisticActor,
    TanhNormal,
    ValueOperator,
)
from torchrl.objectives import A2CLoss, ReinforceLoss
from torchrl.objectives.value import GAE

from delightful.paper.stacks.config import Scores, StackConfig
from delightful.plugins.gating import DelightConfig
from delightful.plugins.torchrl import DelightA2CLoss, DelightReinforceLoss

LOSSES: dict[str, tuple[Any, Any]] = {
    "a2c": (A2CLoss, DelightA2CLoss),
    "reinforce": (ReinforceLoss, DelightReinforceLoss),
}
FRAMES = 500  # per update
WIDTH = 64


def scores(config: StackConfig, delight: DelightConfig | None, seed: int) -> Scores:
    """(step at the end of its batch, return) of every episode."""
    training = Training(config.algorithm, config.task, delight, seed, config.staleness)
    found: Scores = []
    for step in range(FRAMES, config.steps + 1, FRAMES):
        found += [(step, value) for value in training.step()]
    training.collector.shutdown()
    return found


class Training:
    """The collector acts with a copy of the policy, 0 to `staleness` updates old."""

    def __init__(
        self,
        algorithm: str,
        task: str,
        delight: DelightConfig | None,
        seed: int,
        staleness: int = 0,
    ) -> None:
        torch.manual_seed(seed)
        env = TransformedEnv(GymEnv(task), RewardSum())
        env.append_transform(StepCounter())
        env.append_transform(DoubleToFloat())
        env.set_seed(seed)
        actor, critic = _networks(env)
        self.gae = GAE(gamma=0.98, lmbda=0.95, value_network=critic, average_gae=True)
        plain, gated = LOSSES[algorithm]
        kind, options = (plain, {}) if delight is None else (gated, {"delight": delight})
        entropy = {"entropy_coeff": 0.001} if algorithm == "a2c" else {}
        self.loss = kind(actor, critic, loss_critic_type="l2", **entropy, **options)
        self.optimiser = torch.optim.Adam(self.loss.parameters(), lr=3e-3)
        self.actor, self.updates, self.sync_every = actor, 0, staleness + 1
        self.collector = Collector(
            env, deepcopy(actor), frames_per_batch=FRAMES, total_frames=-1, device="cpu"
        )
        self.batches = iter(self.collector)

    def step(self) -> list[float]:
        """Collect a batch and learn from it; the returns of the episodes that ended in it."""
        data = next(self.batches)
        self.update(data)
        done = data["next", "done"].flatten()
        returns: list[float] = data["next", "episode_reward"].flatten()[done].tolist()
        return returns

    def update(self, data: Any) -> None:
        with torch.no_grad():
            self.gae(data)
        out = self.loss(data)
        self.optimiser.zero_grad()
        sum(value for name, value in out.items() if name.startswith("loss_")).backward()
        nn.utils.clip_grad_norm_(self.loss.parameters(), 0.5)
        self.optimiser.step()
        self.updates += 1
        if self.updates % self.sync_every == 0:
            self.collector.update_policy_weights_(TensorDict.from_module(self.actor))


def _networks(env: Any) -> tuple[Any, Any]:
    inputs, spec = env.observation_spec["observation"].shape[-1], env.action_spec
    actions, continuous = spec.shape[-1], spec.dtype.is_floating_point
    layers = partial(MLP, inputs, num_cells=[WIDTH, WIDTH], activation_class=nn.Tanh)
    net, keys, kind, bounds = layers(actions * (1 + continuous)), ["logits"], OneHotCategorical, {}
    if continuous:
        net, keys, kind = nn.Sequential(net, NormalParamExtractor()), ["loc", "scale"], TanhNormal
        bounds = {"low": spec.space.low, "high": spec.space.high}
    actor = ProbabilisticActor(
        TensorDictModule(net, in_keys=["observation"], out_keys=keys),
        in_keys=keys,
        spec=spec,
        distribution_class=kind,
        distribution_kwargs=bounds,
        return_log_prob=True,
    )
    return actor, ValueOperator(layers(1), in_keys=["observation"])
