"""Stale actors against a plain loop that keeps every policy."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from delightful.agents import adam, staleness
from delightful.agents.tokens import network, training
from delightful.agents.tokens.config import TokensConfig

CONFIG = TokensConfig(
    length=3,
    vocabulary=3,
    prompts=4,
    samples=3,
    width=8,
    layers=1,
    heads=2,
    feedforward=8,
    steps=6,
    records=6,
    learning_rate=0.05,
    delay=3,
    ages="uniform",
)


@pytest.mark.parametrize("kind", ["uniform", "batch"])
def test_an_actor_of_some_age_has_the_policy_of_that_many_updates_ago(quick_jit, kind) -> None:
    config = replace(CONFIG, ages=kind)
    found = quick_jit(lambda key: training.train(config, {}, key))(jax.random.key(1))

    @quick_jit
    def step(actors, policy, optimiser, key):
        episodes, seen = training.act_each(CONFIG, actors, key)
        return *training.learn(CONFIG, {}, policy, optimiser, episodes), seen

    start_key, step_key = jax.random.split(jax.random.key(1))
    policies = [network.initial(start_key, CONFIG)]
    optimiser = adam.start(policies[0])
    drawn = set()
    for i in range(CONFIG.steps):
        key = jax.random.fold_in(step_key, i)
        each = CONFIG.prompts if kind == "uniform" else 1
        ages = np.asarray(staleness.draw_ages(key, CONFIG.delay, each)).tolist()
        ages *= CONFIG.prompts // each
        drawn |= set(ages)
        acting = [policies[max(0, i - age)] for age in ages]
        stacked = jax.tree.map(lambda *each: np.stack(each), *acting)
        policy, optimiser, seen = step(stacked, policies[-1], optimiser, key)
        policies.append(policy)
        for name in training.MEASURED:
            assert found[name][i] == pytest.approx(float(seen[name]), abs=1e-4), (name, i)
    assert len(drawn) > 1


def test_equal_policies_act_as_one(quick_jit) -> None:
    key, policy = jax.random.key(3), network.initial(jax.random.key(2), CONFIG)
    alone, seen = quick_jit(lambda p: training.act(CONFIG, p, key))(policy)
    copies = jax.tree.map(lambda w: np.stack([w] * CONFIG.prompts), policy)
    each, also = quick_jit(lambda p: training.act_each(CONFIG, p, key))(copies)
    for one, other in zip(alone, each, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    for name in training.MEASURED:
        assert float(seen[name]) == pytest.approx(float(also[name]), abs=1e-5)


@pytest.mark.parametrize("delay", [0, 1, 4])
def test_a_ring_holds_the_policies_of_the_last_updates(delay: int) -> None:
    past = staleness.start(np.array([0.0]), delay)
    for version in range(1, 10):
        past = staleness.remember(past, np.array([float(version)]), version)
        for age in range(delay + 1):
            assert staleness.recall(past, version, age).tolist() == [max(0, version - age)]
        ages = np.arange(delay + 1)
        several = staleness.recall(past, version, ages)
        assert several[:, 0].tolist() == np.maximum(0, version - ages).tolist()


def test_ages_are_uniform_over_the_last_updates() -> None:
    shares = np.bincount(staleness.draw_ages(jax.random.key(0), 3, 4000)) / 4000
    assert shares.shape == (4,)
    assert np.max(np.abs(shares - 1 / 4)) < 5 * np.sqrt(3 / 16 / 4000)


def test_ages_must_be_of_a_known_kind() -> None:
    with pytest.raises(ValueError, match="ages must be one of fixed, uniform, batch, got old"):
        replace(CONFIG, ages="old").check()
