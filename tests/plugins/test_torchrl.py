import math

import pytest
import torch

pytest.importorskip("torchrl")

from by_hand import copies, difference, gate
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.envs import ExplorationType, set_exploration_type
from torchrl.modules import (
    NormalParamExtractor,
    OneHotCategorical,
    PercentileValueNorm,
    ProbabilisticActor,
    TanhNormal,
    ValueOperator,
)
from torchrl.objectives.value import GAE

from delightful.plugins.torchrl import (
    DelightA2CLoss,
    DelightConfig,
    DelightReinforceLoss,
)

OFF = DelightConfig(temperature=math.inf)
LOSSES = [DelightA2CLoss, DelightReinforceLoss]
OBJECTIVE = {DelightA2CLoss: "loss_objective", DelightReinforceLoss: "loss_actor"}


def networks(continuous, seed=0):
    torch.manual_seed(seed)
    critic = ValueOperator(nn.Linear(3, 1), in_keys=["observation"])
    if continuous:
        net = nn.Sequential(nn.Linear(3, 4), NormalParamExtractor())
        module = TensorDictModule(net, in_keys=["observation"], out_keys=["loc", "scale"])
        actor = ProbabilisticActor(
            module, in_keys=["loc", "scale"], distribution_class=TanhNormal, return_log_prob=True
        )
    else:
        module = TensorDictModule(nn.Linear(3, 4), in_keys=["observation"], out_keys=["logits"])
        actor = ProbabilisticActor(
            module, in_keys=["logits"], distribution_class=OneHotCategorical, return_log_prob=True
        )
    return actor, critic


def batch_for(actor, critic, average=False, steps=30):
    torch.manual_seed(1)
    done = torch.zeros(1, steps, 1, dtype=torch.bool)
    data = TensorDict(
        {
            "observation": torch.randn(1, steps, 3),
            "next": {
                "observation": torch.randn(1, steps, 3),
                "reward": torch.randn(1, steps, 1) * 3,
                "done": done,
                "terminated": done.clone(),
            },
        },
        [1, steps],
    )
    with torch.no_grad(), set_exploration_type(ExplorationType.RANDOM):
        data = actor(data)
        GAE(gamma=0.9, lmbda=0.9, value_network=critic, average_gae=average)(data)
    return data.flatten(0, 1)


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("gate_advantage", ["centred", "raw"])
@pytest.mark.parametrize("kind", LOSSES)
def test_an_update_is_the_gated_gradient(kind, continuous, average, gate_advantage):
    actor, critic = networks(continuous)
    data = batch_for(actor, critic, average)
    config = DelightConfig(max_surprisal=10.0, gate_advantage=gate_advantage)
    loss = kind(actor, critic, functional=False, delight=config)
    theirs = torch.autograd.grad(loss(data.clone())[OBJECTIVE[kind]], list(actor.parameters()))

    log_prob = actor.get_dist(data.clone()).log_prob(data["action"])
    U = data["advantage"][..., 0]
    unscaled = (data["value_target"] - data["state_value"])[..., 0]
    seen = U
    if average and gate_advantage == "centred":
        seen = unscaled - unscaled.mean()
    w = gate(seen, log_prob, clip=10.0).float()
    mine = torch.autograd.grad(-(w * U * log_prob).mean(), list(actor.parameters()))
    for his, ours in zip(theirs, mine, strict=True):
        torch.testing.assert_close(his, ours, rtol=1e-4, atol=1e-6)
        assert float(his.abs().max()) > 1e-4


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("functional", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("kind", LOSSES)
def test_switched_off_it_is_torchrls(kind, reduction, functional, continuous):
    actor, critic = networks(continuous)
    data = batch_for(actor, critic)
    options = {"functional": functional, "reduction": reduction}
    torch.manual_seed(3)  # the entropy of a TanhNormal is a sample's
    theirs = kind.__mro__[2](actor, critic, **options)(data.clone())
    torch.manual_seed(3)
    ours = kind(actor, critic, delight=OFF, **options)(data.clone())
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, rtol=0, atol=0)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("key", [("collector", "mask"), "shifted_valid"])
def test_what_torchrl_masks_out_does_not_count(kind, key):
    actor, critic = networks(True)
    data = batch_for(actor, critic, average=True)
    loss = kind(actor, critic, delight=DelightConfig(whiten="scale"))
    alone = loss(data.clone())
    padded = torch.cat([data, data[:7]]).clone()
    padded["advantage"][30:] = torch.nan
    padded["value_target"][30:] = 1e3
    padded[key] = (torch.arange(37) < 30)[:, None]
    found = loss(padded)
    for name in (OBJECTIVE[kind], "delight_gate_mean_positive", "delight_effective_sample_size"):
        torch.testing.assert_close(found[name], alone[name])


def test_an_advantage_that_the_loss_divides_is_gated_as_it_was():
    actor, critic = networks(True)
    data = batch_for(actor, critic)
    norm = PercentileValueNorm()
    for _ in range(200):  # its scale is a slow average
        norm.update(10 * data["value_target"])
    config = DelightConfig(max_surprisal=10.0)
    loss = DelightA2CLoss(actor, critic, functional=False, delight=config, advantage_norm=norm)
    theirs = torch.autograd.grad(loss(data.clone())["loss_objective"], list(actor.parameters()))
    log_prob, U = actor.get_dist(data.clone()).log_prob(data["action"]), data["advantage"][..., 0]
    scale = norm.scale().squeeze()
    assert float(scale) > 1.1
    mine = -(gate(U, log_prob, clip=10.0).float() * (U / scale) * log_prob).mean()
    for his, ours in zip(theirs, torch.autograd.grad(mine, list(actor.parameters())), strict=True):
        torch.testing.assert_close(his, ours, rtol=1e-4, atol=1e-6)


def test_the_batch_is_as_it_was():
    actor, critic = networks(True)
    data = batch_for(actor, critic)
    before = data.clone()
    DelightReinforceLoss(actor, critic)(data)
    assert torch.equal(data["action"], before["action"])
    assert torch.equal(data["action_log_prob"], before["action_log_prob"])


@pytest.mark.parametrize("kind", LOSSES)
def test_without_an_advantage_the_loss_makes_it(kind):
    actor, critic = networks(False)
    data = batch_for(actor, critic).exclude("advantage", "value_target")
    found = kind(actor, critic)(data.unsqueeze(0))
    assert torch.isfinite(found[OBJECTIVE[kind]])
    assert 0 < float(found["delight_gate_mean_positive"]) < 1


@pytest.mark.parametrize("kind", LOSSES)
def test_save_load_and_go_on(kind, tmp_path):
    def updated(loss, optimiser, times):
        for seed in range(times):
            torch.manual_seed(seed)  # for the entropy of a TanhNormal, which is a sample's
            out = loss(data.clone())
            optimiser.zero_grad()
            sum(value for name, value in out.items() if name.startswith("loss_")).backward()
            optimiser.step()

    config, data = DelightConfig(temperature=0.5), batch_for(*networks(True))
    first, second = (kind(*networks(True, seed=s), delight=config) for s in (0, 1))
    adam, again = (torch.optim.Adam(loss.parameters(), 0.01) for loss in (first, second))
    updated(first, adam, 3)
    torch.save([first.state_dict(), adam.state_dict()], tmp_path / "saved.pt")
    of_loss, of_adam = torch.load(tmp_path / "saved.pt", weights_only=True)
    second.load_state_dict(of_loss)
    again.load_state_dict(of_adam)
    before = copies(second)
    updated(first, adam, 3)
    updated(second, again, 3)
    assert difference(copies(first), second) == 0
    assert difference(before, second) > 1e-3
