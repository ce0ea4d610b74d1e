import math

import numpy as np
import pytest
import torch

pytest.importorskip("stable_baselines3")

import gymnasium
import stable_baselines3 as sb3
from by_hand import copies, difference, gate
from stable_baselines3.common.logger import configure

from delightful.plugins.sb3 import DelightA2C, DelightConfig, DelightPPO

OFF = DelightConfig(temperature=math.inf)
ENVIRONMENTS = ["CartPole-v1", "Pendulum-v1"]
BARE = {"optimizer_class": torch.optim.SGD}  # an update is the gradient times the learning rate


def model(kind, env, seed=0, **options):
    steps = (
        {"n_steps": 64, "batch_size": 64, "n_epochs": 1}
        if "PPO" in kind.__name__
        else {"n_steps": 64}
    )
    return kind("MlpPolicy", env, seed=seed, device="cpu", **{**steps, **options})


def collected(algorithm):
    """One rollout in the buffer, nothing trained."""
    algorithm.set_logger(configure(format_strings=[]))
    _, callback = algorithm._setup_learn(10_000)
    algorithm.collect_rollouts(algorithm.env, callback, algorithm.rollout_buffer, algorithm.n_steps)
    return algorithm


def taken(algorithm):
    """What the rollout holds, in SB3's order of its one minibatch; drawn without touching it."""
    samples = algorithm.rollout_buffer._get_samples(range(algorithm.n_steps))
    actions = samples.actions
    if isinstance(algorithm.action_space, gymnasium.spaces.Discrete):
        actions = actions.long().flatten()
    _, log_prob, _ = algorithm.policy.evaluate_actions(samples.observations, actions)
    return samples.advantages, log_prob


def flattened(algorithm):
    """SB3 flattens its buffer at the first `get`; do so, and give back its random state."""
    state = np.random.get_state()
    next(iter(algorithm.rollout_buffer.get(None)))
    np.random.set_state(state)


@pytest.mark.parametrize("env", ENVIRONMENTS)
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("kind", [DelightA2C, DelightPPO])
@pytest.mark.parametrize("gate_advantage", ["centred", "raw"])
def test_an_update_is_the_gated_gradient(kind, normalize, env, gate_advantage):
    config = DelightConfig(max_surprisal=10.0, gate_advantage=gate_advantage)
    algorithm = collected(
        model(
            kind,
            env,
            delight=config,
            vf_coef=0.0,
            ent_coef=0.0,
            max_grad_norm=1e9,
            normalize_advantage=normalize,
            learning_rate=1.0,
            policy_kwargs=BARE,
        )
    )
    flattened(algorithm)
    advantage, log_prob = taken(algorithm)
    seen = advantage
    if normalize:
        seen = advantage - advantage.mean()
        advantage = seen / (advantage.std() + 1e-8)
    w = gate(seen if gate_advantage == "centred" else advantage, log_prob, clip=10.0)
    named = dict(algorithm.policy.named_parameters())
    found = torch.autograd.grad(
        -(w.float() * advantage * log_prob).mean(), list(named.values()), allow_unused=True
    )
    before = copies(algorithm.policy)
    algorithm.train()
    moved = 0.0
    for (name, parameter), g in zip(named.items(), found, strict=True):
        expected = before[name] if g is None else before[name] - g
        torch.testing.assert_close(parameter.detach(), expected, rtol=1e-4, atol=1e-6)
        moved = max(moved, float((parameter.detach() - before[name]).abs().max()))
    assert moved > 1e-4
    assert algorithm.normalize_advantage is normalize


@pytest.mark.parametrize("env", ENVIRONMENTS)
@pytest.mark.parametrize(("plain", "gated"), [(sb3.A2C, DelightA2C), (sb3.PPO, DelightPPO)])
def test_switched_off_it_is_sb3(plain, gated, env):
    options = {} if plain is sb3.A2C else {"n_epochs": 3, "batch_size": 24, "target_kl": 0.5}
    theirs = model(plain, env, **options).learn(256)
    ours = model(gated, env, delight=OFF, **options).learn(256)
    assert difference(copies(theirs.policy), ours.policy) == 0
    assert difference(copies(theirs.policy), model(gated, env, **options).learn(256).policy) > 1e-4


def test_numbers_reach_the_logger():
    algorithm = collected(model(DelightPPO, "CartPole-v1"))
    algorithm.train()
    logged = algorithm.logger.name_to_value
    assert 0 < logged["delight/gate_mean_negative"] < 0.5 < logged["delight/gate_mean_positive"] < 1
    for name in ("suppressed", "neutral", "breakthroughs", "clipped_surprisal"):
        assert 0 <= logged[f"delight/{name}"] <= 1
    assert 1 <= logged["delight/effective_sample_size"] <= 64


@pytest.mark.parametrize("kind", [DelightA2C, DelightPPO])
def test_save_load_and_go_on(kind, tmp_path):
    config = DelightConfig(temperature=0.3, max_surprisal=5.0)
    first = model(kind, "CartPole-v1", delight=config).learn(128)
    first.save(tmp_path / "model.zip")
    second = kind.load(tmp_path / "model.zip", env=gymnasium.make("CartPole-v1"), device="cpu")
    assert second.delight == config
    assert second._gating.config == config
    for algorithm in (first, second):
        algorithm.set_env(gymnasium.make("CartPole-v1"))
        algorithm.set_random_seed(7)
        algorithm.learn(128, reset_num_timesteps=True)
    assert difference(copies(first.policy), second.policy) == 0


def test_options_given_at_loading_count(tmp_path):
    model(DelightPPO, "CartPole-v1").save(tmp_path / "gated.zip")
    model(sb3.PPO, "CartPole-v1").save(tmp_path / "plain.zip")
    cold = DelightConfig(temperature=0.1)
    for name in ("gated", "plain"):
        loaded = DelightPPO.load(tmp_path / f"{name}.zip", delight=cold, device="cpu")
        assert loaded._gating.config == cold
    with pytest.raises(ValueError, match="level must be"):
        DelightPPO.load(tmp_path / "plain.zip", delight=DelightConfig(level="sequence"))


def test_a_pass_that_is_cut_short_is_logged_too():
    algorithm = collected(model(DelightPPO, "CartPole-v1", batch_size=24, target_kl=1e-9))
    algorithm.train()
    assert algorithm._gating.diagnosis.entries == 24
    assert "delight/gate_mean_positive" in algorithm.logger.name_to_value


def test_a_level_that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="level must be"):
        DelightPPO("MlpPolicy", "CartPole-v1", delight=DelightConfig(level="sequence"))
