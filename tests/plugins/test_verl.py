import math
import os
import subprocess
import sys
from functools import partial
from unittest import mock

import pytest

pytest.importorskip("verl")

import numpy as np
import torch
from by_hand import gate, gradients
from verl.trainer.ppo.core_algos import compute_policy_loss_vanilla
from verl.workers.config import ActorConfig, FSDPOptimizerConfig

from delightful.paper.stacks import reversal
from delightful.plugins.gating import LOGGED
from delightful.plugins.verl import DelightConfig, config_from, configure, delight_policy_loss

RAW = partial(DelightConfig, gate_advantage="raw")
actor = partial(ActorConfig, strategy="fsdp2", rollout_n=1, ppo_micro_batch_size_per_gpu=1)
LENGTHS = torch.tensor([6, 3, 1, 4, 0])
MASK = torch.arange(6) < LENGTHS[:, None]


@pytest.fixture(scope="module")
def stack():
    """verl on this CPU, which it tells verl by a variable when it is imported."""
    with mock.patch.dict(os.environ):
        from delightful.paper.stacks import verl

        with verl.alone():
            assert os.environ["RANK"] == "0"
            yield verl
        # left behind, they would make others' tests distributed
        assert not {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT"} & set(os.environ)


def a_batch():
    """A network's parameters, a function to its log-probabilities of tokens, and advantages."""
    torch.manual_seed(0)
    shapes = ((5, 6, 3), (3, 8), (8, 5), (5, 6))
    features, first, last, U = (torch.randn(*shape, dtype=torch.float64) for shape in shapes)
    tokens = torch.randint(5, (5, 6, 1))

    def log_prob():
        return torch.log_softmax((features @ first).tanh() @ last, -1).gather(-1, tokens)[..., 0]

    return (first.requires_grad_(), last.requires_grad_()), log_prob, U


def gate_by_hand(config, U, log_prob, mask):
    if config.level == "sequence":
        log_prob = (log_prob * mask).sum(1, keepdim=True)
    clip = config.max_surprisal or math.inf
    return gate(U, log_prob, config.temperature, clip, 2.0 if config.unit_gain else 1.0)


def assert_same_gradients(ours, theirs, parameters):
    for mine, his in zip(gradients(ours, parameters), gradients(theirs, parameters), strict=True):
        assert float(his.abs().max()) > 1e-3
        torch.testing.assert_close(mine, his, rtol=1e-6, atol=1e-9)


AGGREGATED = {  # the last of the five sequences has no token
    "token-mean": lambda terms: terms.sum() / LENGTHS.sum(),
    "token-sum": lambda terms: terms.sum(),
    "seq-mean-token-mean": lambda terms: (terms.sum(1) / LENGTHS.clamp(min=1)).sum() / 4,
    "seq-mean-token-sum-norm": lambda terms: terms.sum() / 4 / 6,
}
CONFIGS = {
    "token": RAW(temperature=0.7),
    "sequence": RAW(level="sequence", unit_gain=True),
    "clipped": RAW(level="sequence", max_surprisal=2.0),
}


@pytest.mark.parametrize("mode", AGGREGATED)
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_the_gradient_of_the_loss_is_the_gated_one(mode, config):
    parameters, log_prob, U = a_batch()
    configure(config)
    loss, _ = delight_policy_loss(log_prob().detach(), log_prob(), U, MASK, mode, actor())
    w = gate_by_hand(config, U, log_prob(), MASK)
    assert_same_gradients(loss, AGGREGATED[mode](-w * U * log_prob() * MASK), parameters)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_an_update_of_the_worker_is_the_gated_gradient(stack, monkeypatch, config):
    bare = partial(FSDPOptimizerConfig, optimizer="SGD", clip_grad=1e9)
    monkeypatch.setattr(stack, "FSDPOptimizerConfig", bare)
    configure(config)
    training = stack.Training("delight", 0, 1, rate=1.0)
    training.actor.ppo_mini_batch_size = stack.PROMPTS  # one update, of four micro-batches
    batches, update = [], training._update
    monkeypatch.setattr(training, "_update", lambda batch: batches.append(batch) or update(batch))
    assert training.step(0)["grad_norm"][0] > 0.01
    net, batch = reversal.network(0), batches[0].batch
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "position_ids")}
    logits = net(**inputs).logits[:, -reversal.LENGTH - 1 : -1]
    log_prob = torch.log_softmax(logits, -1).gather(-1, batch["responses"][..., None])[..., 0]
    U, mask = batch["advantages"], batch["response_mask"]
    assert len(mask.sum(1).unique()) > 1
    w = gate_by_hand(config, U, log_prob.detach(), mask).float()
    (-(w * U * log_prob * mask).sum() / mask.sum()).backward()
    for p, moved in zip(net.parameters(), training.worker.engine.module.parameters(), strict=True):
        torch.testing.assert_close(moved.full_tensor(), p - p.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_clips_ratios_and_rollout_weights_act_on_gated_advantages(weighted):
    parameters, log_prob, U = a_batch()
    weights = torch.linspace(0, 2, 30).view(5, 6) if weighted else None
    configure(RAW())
    old = log_prob().detach() + torch.linspace(-1, 1, 30).view(6, 5).T
    w = gate(U, log_prob())
    others = (MASK, "token-mean", actor(clip_ratio_low=0.1, clip_ratio_c=1.5), weights)
    ours, metrics = delight_policy_loss(old, log_prob(), U, *others)
    theirs, expected = compute_policy_loss_vanilla(old, log_prob(), U * w, *others)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-6)
    assert_same_gradients(ours, theirs, parameters)
    assert {name: metrics[name] for name in expected} == expected
    assert min(metrics["actor/pg_clipfrac_lower"], metrics["actor/pg_clipfrac"]) > 0


def taken(training, *steps):
    """Of each step the reward and the gradient norms of its two updates."""
    return np.array([(found["reward"], *found["grad_norm"]) for found in map(training.step, steps)])


def test_switched_off_it_is_verl(stack):
    theirs = taken(stack.Training("vanilla", 0, 5), *range(5))
    configure(RAW(temperature=math.inf, unit_gain=True))
    np.testing.assert_allclose(taken(stack.Training("delight", 0, 5), *range(5)), theirs, 1e-6)
    configure(RAW(unit_gain=True))
    gated = taken(stack.Training("delight", 0, 5), *range(5))
    assert (abs(gated / theirs - 1)[:, 1] > 0.01).all()


def test_it_learns_to_reverse(stack):
    configure(RAW(unit_gain=True))
    rewards = taken(stack.Training("delight", 0, 40), *range(40))[:, 0]
    assert rewards[:5].mean() < 0.35
    assert rewards[-5:].mean() > 0.55  # 0.5 is had without reading the prompt


def test_save_load_and_go_on(stack, tmp_path):
    configure(RAW())
    whole, again = (stack.Training("delight", 0, 4) for _ in range(2))
    taken(whole, 0, 1)
    whole.worker.save_checkpoint(str(tmp_path), global_step=2)
    expected = taken(whole, 2, 3)
    again.worker.load_checkpoint(str(tmp_path))  # the random state too
    np.testing.assert_allclose(taken(again, 2, 3), expected, 1e-6)


@pytest.mark.parametrize("known", [False, True])
def test_verl_alone_finds_the_loss_and_the_loss_its_options(known):
    script = """import torch, verl
from verl.trainer.ppo.core_algos import get_policy_loss_fn
from verl.workers.config import ActorConfig
config = ActorConfig(strategy="fsdp2", rollout_n=1, ppo_micro_batch_size_per_gpu=1)
one = torch.ones(2, 3)
print(get_policy_loss_fn("delight")(-one, -one, one, one, config=config)[0].item())"""
    given = {"DELIGHT_TEMPERATURE": "0.5", "DELIGHT_UNIT_GAIN": "true"}
    given |= {"DELIGHT_GATE_ADVANTAGE": "raw"} if known else {}
    given |= {name: text for name, text in os.environ.items() if not name.startswith("VERL_")}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=True)
    assert float(done.stdout.split()[-1]) == pytest.approx(-2 / (1 + math.exp(-2)))
    assert ("sees advantages only as they are trained on" in done.stderr) is not known


def test_each_option_comes_from_the_environment():
    given = {"temperature": math.inf, "max_surprisal": 10.0, "unit_gain": True}
    for options in ({}, given, {"level": "sequence", "whiten": "scale", "unit_gain": False}):
        environment = {f"DELIGHT_{name.upper()}": str(value) for name, value in options.items()}
        assert config_from(environment | {"PATH": "/bin"}) == RAW(**options)


REFUSED = {
    "ETA=1": r"unknown gate option DELIGHT_ETA; known are (DELIGHT_\w+(, )?){6}",
    "TEMPERATURE=hot": "DELIGHT_TEMPERATURE must be a number, got 'hot'",
    "TEMPERATURE=-1": "temperature must be >= 0, got -1.0",
    "UNIT_GAIN=yes": "DELIGHT_UNIT_GAIN must be true or false, got 'yes'",
    "LEVEL=word": "level must be one of 'token', 'sequence', got 'word'",
    "GATE_ADVANTAGE=centred": 'gate_advantage can only be "raw" in verl, got "centred"; .+',
}


@pytest.mark.parametrize(("given", "said"), REFUSED.items(), ids=REFUSED)
def test_a_bad_option_is_refused_in_one_sentence(given, said):
    name, text = given.split("=")
    with pytest.raises(ValueError, match=f"^{said}$"):
        configure(config_from({f"DELIGHT_{name}": text}))


def test_every_micro_batch_has_the_same_finite_metrics():
    _, log_prob, U = a_batch()
    configure(RAW())
    for advantages in (-U.abs(), 0 * U, U.abs(), U):  # none above 0 at first
        _, metrics = delight_policy_loss(log_prob(), log_prob(), advantages, MASK, config=actor())
        assert {name for name in metrics if "delight" in name} == {f"delight/{x}" for x in LOGGED}
        assert all(math.isfinite(value) for value in metrics.values())


def test_a_micro_batch_with_no_token_adds_nothing():
    _, log_prob, U = a_batch()
    configure(RAW())
    config = actor(global_batch_info={"batch_num_tokens": 7})
    loss, metrics = delight_policy_loss(log_prob(), log_prob(), U, MASK & False, config=config)
    assert loss.item() == 0
    assert {f"delight/{name}" for name in LOGGED} <= set(metrics)
