import copy
import math

import numpy as np
import pytest
import torch

pytest.importorskip("ray.rllib")

import ray
from by_hand import gate
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.learner import GeneralAdvantageEstimation
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing

from delightful.plugins import rllib
from delightful.plugins.rllib import DelightPPOConfig

ENVIRONMENTS = ["CartPole-v1", "Pendulum-v1"]
MODULE = "default_policy"


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, ignore_reinit_error=True)
    yield
    ray.shutdown()


def configured(config, env, **training):
    defaults = {"train_batch_size_per_learner": 128, "minibatch_size": 64, "num_epochs": 2}
    return (
        config.environment(env)
        .env_runners(num_env_runners=0)
        .learners(num_learners=0)
        .training(**{**defaults, **training})
        .debugging(seed=0, log_level="ERROR")
    )


def weights(algorithm):
    found = algorithm.get_weights([MODULE])[MODULE]
    return {name: np.array(value) for name, value in found.items()}


def same(a, b):
    return all(np.array_equal(a[name], b[name]) for name in a)


@pytest.fixture
def overheard(monkeypatch):
    """Every loss that the learner computes: its batch, its module's output, and the loss."""
    found = []
    original = rllib.DelightPPOTorchLearner.compute_loss_for_module

    def listening(self, **named):
        loss = original(self, **named)
        found.append({**named, "learner": self, "loss": loss})
        return loss

    monkeypatch.setattr(rllib.DelightPPOTorchLearner, "compute_loss_for_module", listening)
    return found


@pytest.mark.parametrize("env", ENVIRONMENTS)
@pytest.mark.parametrize("gate_advantage", ["centred", "raw"])
def test_an_update_is_the_gated_gradient(env, gate_advantage, overheard, monkeypatch):
    unscaled = []
    original = GeneralAdvantageEstimation.__call__

    def standardising(self, **named):
        batch = original(self, **named)
        unscaled.append(batch[MODULE][Postprocessing.VALUE_TARGETS])
        return batch

    monkeypatch.setattr(GeneralAdvantageEstimation, "__call__", standardising)
    config = configured(
        DelightPPOConfig().delight(max_surprisal=10.0, gate_advantage=gate_advantage),
        env,
        num_epochs=1,
        minibatch_size=128,
        vf_loss_coeff=0.0,
        use_kl_loss=False,
    )
    algorithm = config.build_algo()
    algorithm.train()
    call = overheard[0]
    batch, module = call["batch"], call["learner"].module[MODULE].unwrapped()
    mask = batch[Columns.LOSS_MASK]
    U, centred = batch[Postprocessing.ADVANTAGES], batch["centred_advantages"]
    dist = module.get_train_action_dist_cls().from_logits(
        call["fwd_out"][Columns.ACTION_DIST_INPUTS]
    )
    log_prob = dist.logp(batch[Columns.ACTIONS])
    seen = centred if gate_advantage == "centred" else U
    w = gate(seen, log_prob, clip=10.0).float()
    ratio = torch.exp(log_prob - batch[Columns.ACTION_LOGP])
    surrogate = torch.min(w * U * ratio, w * U * ratio.clamp(0.7, 1.3))
    torch.testing.assert_close(
        call["loss"], -surrogate[mask].sum() / mask.sum(), rtol=1e-4, atol=1e-6
    )
    # The scale is the deviation of the advantages as they were.
    ratio_of = (centred / U)[mask & (U.abs() > 1e-3)]
    torch.testing.assert_close(ratio_of, ratio_of[:1].expand_as(ratio_of), rtol=1e-3, atol=0)
    algorithm.stop()


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_switched_off_it_is_rllib(env):
    def trained(config):
        algorithm = configured(config, env).build_algo()
        for _ in range(2):
            algorithm.train()
        found = weights(algorithm)
        algorithm.stop()
        return found

    theirs = trained(PPOConfig())
    assert same(theirs, trained(PPOConfig()))  # else the next line would say nothing
    off = DelightPPOConfig().delight(temperature=math.inf, unit_gain=True)
    assert same(theirs, trained(off))
    assert not same(theirs, trained(DelightPPOConfig()))


def test_numbers_reach_the_results():
    algorithm = configured(DelightPPOConfig(), "CartPole-v1").build_algo()
    found = algorithm.train()["learners"][MODULE]
    assert 0 < found["delight_gate_mean_negative"] < 0.5 < found["delight_gate_mean_positive"] < 1
    algorithm.stop()


def test_a_learner_of_its_own_process_gates_too():
    config = configured(DelightPPOConfig().delight(whiten="scale"), "CartPole-v1")
    algorithm = config.learners(num_learners=1).build_algo()
    found = algorithm.train()["learners"][MODULE]
    assert 0 < found["delight_gate_mean_negative"] < 0.5 < found["delight_gate_mean_positive"] < 1
    algorithm.stop()


def learned(algorithm, episodes):
    """The weights after learning from these episodes: RLlib saves no environments, so both sides
    of a comparison must be given the same."""
    np.random.seed(0)
    algorithm.learner_group.update(
        episodes=copy.deepcopy(episodes),
        timesteps={"num_env_steps_sampled_lifetime": 256},
        num_epochs=2,
        minibatch_size=64,
    )
    return {
        name: value.detach().numpy().copy()
        for name, value in algorithm.learner_group._learner.module[MODULE].named_parameters()
    }


def test_save_load_and_go_on(tmp_path):
    config = DelightPPOConfig().delight(temperature=0.5)
    # Without the KL term, whose adapted coefficient RLlib's own checkpoints leave out.
    first = configured(config, "CartPole-v1", use_kl_loss=False).build_algo()
    first.train()
    first.save_to_path(str(tmp_path / "saved"))
    second = type(first).from_checkpoint(str(tmp_path / "saved"))
    assert second.config.delight_options == {"temperature": 0.5}
    assert same(weights(first), weights(second))
    episodes = first.env_runner.sample(num_timesteps=128)
    before = weights(first)
    after = learned(first, episodes)
    assert not same(after, before)
    assert same(after, learned(second, episodes))
    first.stop()
    second.stop()


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="temperature must be >= 0"):
        DelightPPOConfig().delight(temperature=-1)
    with pytest.raises(ValueError, match="level must be"):
        DelightPPOConfig().delight(level="sequence")
