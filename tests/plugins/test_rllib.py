import copy
import math

import numpy as np
import pytest
import torch

pytest.importorskip("ray.rllib", exc_type=ImportError)  # ray may be there without it

import ray
from by_hand import gate
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.connectors.learner import GeneralAdvantageEstimation
from ray.rllib.connectors.learner import general_advantage_estimation as gae
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing

from delightful.plugins import rllib
from delightful.plugins.rllib import DelightPPOConfig

pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
ENVIRONMENTS = ["CartPole-v1", "Pendulum-v1"]
MODULE = "default_policy"


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init("local", num_cpus=2, include_dashboard=False, ignore_reinit_error=True)
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


@pytest.mark.parametrize("env", ENVIRONMENTS)
@pytest.mark.parametrize("gate_advantage", ["centred", "raw"])
def test_an_update_is_the_gated_gradient(env, gate_advantage, monkeypatch):
    raw = []  # RLlib's advantages before it standardises them
    compared = []
    targets_of, loss_of = (
        gae.compute_value_targets,
        rllib.DelightPPOTorchLearner.compute_loss_for_module,
    )

    def listening(values, **named):
        targets = targets_of(values=values, **named)
        raw.append(targets - values)
        return targets

    def comparing(self, *, batch, fwd_out, **named):  # here, since the update overwrites the graph
        loss = loss_of(self, batch=batch, fwd_out=fwd_out, **named)
        if compared:  # later minibatches have other ratios than 1
            return loss
        module = self.module[MODULE].unwrapped()
        mask, U = batch[Columns.LOSS_MASK], batch[Postprocessing.ADVANTAGES]
        kind = module.get_train_action_dist_cls()
        log_prob = kind.from_logits(fwd_out[Columns.ACTION_DIST_INPUTS]).logp(
            batch[Columns.ACTIONS]
        )
        seen = U * float(np.std(raw[0])) if gate_advantage == "centred" else U
        w = gate(seen, log_prob, clip=10.0).float()
        mine = -(w * U * log_prob)[mask].sum() / mask.sum()
        pairs = [
            torch.autograd.grad(x, list(module.parameters()), retain_graph=True, allow_unused=True)
            for x in (loss, mine)
        ]
        for his, ours in zip(*pairs, strict=True):
            if ours is not None:  # the critic's
                torch.testing.assert_close(his, ours, rtol=1e-3, atol=1e-6)
                compared.append(float(his.abs().max()))
        return loss

    monkeypatch.setattr(gae, "compute_value_targets", listening)
    monkeypatch.setattr(rllib.DelightPPOTorchLearner, "compute_loss_for_module", comparing)
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
    assert len(compared) >= 4
    assert min(compared) > 1e-4
    assert np.std(raw[0]) > 1.1
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
    off = DelightPPOConfig().delight(temperature=math.inf)
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


def test_what_would_train_ungated_is_refused():
    old = DelightPPOConfig().environment("CartPole-v1")
    old.api_stack(enable_rl_module_and_learner=False, enable_env_runner_and_connector_v2=False)
    for config in (old, DelightPPOConfig().learners(learner_class=PPOTorchLearner)):
        with pytest.raises(ValueError, match="needs RLlib's new API stack and a learner_class"):
            config.validate()


def test_advantages_of_unknown_scale_must_be_gated_raw(monkeypatch):
    class Mine(GeneralAdvantageEstimation):
        pass

    monkeypatch.setattr("ray.rllib.algorithms.ppo.ppo_learner.GeneralAdvantageEstimation", Mine)
    algorithm = configured(DelightPPOConfig(), "CartPole-v1").build_algo()
    with pytest.raises(ValueError, match='gate_advantage must be "raw" without RLlib'):
        algorithm.train()
    algorithm.stop()
    raw = DelightPPOConfig().delight(gate_advantage="raw")
    algorithm = configured(raw, "CartPole-v1").build_algo()
    algorithm.train()
    algorithm.stop()


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="temperature must be >= 0"):
        DelightPPOConfig().delight(temperature=-1)
    with pytest.raises(ValueError, match="level must be"):
        DelightPPOConfig().delight(level="sequence")
