"""The bandit's sampler, gradient, steps and records, each against NumPy in float64."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import delightful
from delightful import theory
from delightful.paper.bandit import alignment, train
from delightful.paper.bandit.config import AlignmentConfig, BanditConfig

SMALL = BanditConfig(actions=5, batch=16, steps=4)


def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


def omega(method, advantage, log_prob):
    """ω of PG and DG, by hand."""
    return advantage * (1.0 if method == "pg" else 1 / (1 + np.exp(advantage * log_prob)))


def by_hand(method, draws, K, b, step_size):
    """What training must do, in float64: gradients, policies, errors and misalignments."""
    z, gradients, policies = np.zeros(K), [], []
    for u in draws:
        policy = softmax(z)
        actions = np.searchsorted(np.cumsum(policy)[:-1], u, side="right")
        U = (actions == 0) - b
        weight = omega(method, U, np.log(policy[actions]))
        g = sum(w * (np.eye(K)[a] - policy) for w, a in zip(weight, actions, strict=True)) / u.size
        gradients.append(g)
        policies.append(policy)
        z = z + step_size * g / np.linalg.norm(g)
    return np.array(gradients), np.array(policies)


def cosine_gap(g, policy):
    target = np.eye(policy.size)[0] - policy
    return 1 - g @ target / np.linalg.norm(g) / np.linalg.norm(target)


@pytest.fixture(params=["pg", "dg"])
def trained(request, monkeypatch):
    """A short training run, with the vectors that it normalised, and the same by hand."""
    normalised = []
    unit = train.unit
    monkeypatch.setattr(
        train, "unit", lambda xp, v: (normalised.append(np.asarray(v)), unit(xp, v))[1]
    )
    config = dataclasses.replace(SMALL, method=request.param, baseline=0.3, step_size=0.25)
    key = jax.random.key(7)
    with jax.disable_jit():
        curves = train.train(config, {}, key)
    draws = np.asarray(jax.random.uniform(key, (config.steps, config.batch)), float)
    return config, curves, normalised, by_hand(config.method, draws, 5, 0.3, 0.25)


def test_samples_follow_the_policy():
    policy = np.array([0.45, 0.05, 0.3, 0.001, 0.199])
    rows = np.asarray(
        train.sample(jax.random.uniform(jax.random.key(0), (200_000,)), jnp.asarray(policy))
    )
    assert np.all(rows.sum(1) == 1)
    assert stats.chisquare(rows.sum(0), policy * 200_000).pvalue > 1e-4


def test_every_draw_gives_one_action_even_where_rounding_takes_the_sum_from_one():
    policy = jax.nn.softmax(5 * jax.random.normal(jax.random.key(1), (1000,)))
    edges = jnp.concatenate([jnp.cumsum(policy), jnp.array([0.0, 1 - 2**-24])])
    rows = train.sample(edges[edges < 1], policy)
    assert np.all(np.asarray(rows).sum(1) == 1)


def test_the_gradient_is_the_mean_of_weighted_scores(trained):
    _, _, normalised, (gradients, _) = trained
    assert np.array(normalised[::2]) == pytest.approx(gradients, abs=1e-6)


def test_every_step_has_the_length_of_the_step_size(trained):
    config, _, normalised, _ = trained
    policies = np.eye(5)[0] - np.array(normalised[1::2])
    logits = np.log(policies) - np.log(policies).mean(1, keepdims=True)  # steps sum to zero
    lengths = np.linalg.norm(np.diff(logits, axis=0), axis=1)
    assert lengths == pytest.approx(np.full(config.steps - 1, config.step_size), abs=1e-5)


def test_the_records_are_the_error_and_one_minus_the_cosine(trained):
    _, curves, _, (gradients, policies) = trained
    gaps = [cosine_gap(g, policy) for g, policy in zip(gradients, policies, strict=True)]
    assert np.asarray(curves["error"]) == pytest.approx(1 - policies[:, 0], abs=1e-6)
    assert np.asarray(curves["misalignment"]) == pytest.approx(np.array(gaps), abs=1e-6)


def test_the_compiled_run_is_the_run_by_hand():
    seed, K, b, step_size = 3, SMALL.actions, SMALL.baseline, SMALL.step_size
    curves = train.run(dataclasses.replace(SMALL, method="dg"), np.array([seed]))
    draws = np.asarray(jax.random.uniform(jax.random.key(seed), (SMALL.steps, SMALL.batch)), float)
    gradients, policies = by_hand("dg", draws, K, b, step_size)
    gaps = [cosine_gap(g, policy) for g, policy in zip(gradients, policies, strict=True)]
    assert curves["step"].tolist() == [0, 1, 2, 3]
    assert curves["error"][0] == pytest.approx(1 - policies[:, 0], abs=1e-6)
    assert curves["misalignment"][0] == pytest.approx(np.array(gaps), abs=1e-6)


@pytest.mark.parametrize("method", delightful.METHODS)
def test_every_registered_method_trains(method):
    config = dataclasses.replace(SMALL, method=method)
    config.check()
    with jax.disable_jit():  # compiling each would take longer than all the rest
        curves = train.run(config, np.arange(3))
    assert curves["error"].shape == curves["misalignment"].shape == (3, 4)
    assert all(np.all(np.isfinite(values)) for values in curves.values())
    assert np.all((curves["error"] >= 0) & (curves["error"] <= 1))
    assert not np.array_equal(curves["error"][:, 0], curves["error"][:, 1])


@pytest.mark.parametrize("method", delightful.METHODS)
def test_every_registered_method_can_be_traced_with_its_options(method):
    config = dataclasses.replace(SMALL, method=method)
    options = delightful.METHODS[method].defaults
    floats = {name: value for name, value in options.items() if isinstance(value, float)}
    curves = jax.eval_shape(lambda floats: train.train(config, floats, jax.random.key(0)), floats)
    assert curves["error"].shape == (4,)


def test_a_batch_without_any_weight_takes_no_step():
    # With b = 0 only the correct action has weight, and one draw of five rarely is that action.
    curves = train.run(dataclasses.replace(SMALL, baseline=0.0, batch=1), np.arange(20))
    assert np.all(np.isfinite(curves["misalignment"]))
    assert np.any(curves["error"][:, 1] == curves["error"][:, 0])


# Alignment at a frozen policy

FROZEN = AlignmentConfig(actions=6, error=0.3, batch=40, baseline=0.4, batches=30)


@pytest.mark.parametrize("method", ["pg", "dg"])
def test_alignment_is_that_of_the_samples_taken_one_by_one(method):
    config = dataclasses.replace(FROZEN, method=method)
    policy = np.array([0.7, *[0.06] * 5])
    gaps = []
    for counts in np.random.default_rng(11).multinomial(40, policy, 30):
        actions = np.repeat(np.arange(6), counts)
        weight = omega(method, (actions == 0) - 0.4, np.log(policy[actions]))
        g = np.mean([w * (np.eye(6)[a] - policy) for w, a in zip(weight, actions, strict=True)], 0)
        gaps.append(cosine_gap(g, policy))
    found = alignment.run(config, np.array([11]))
    assert found["misalignment"] == pytest.approx(np.array([[np.mean(gaps)]]), rel=1e-9)


@pytest.mark.parametrize("method", ["pg", "dg"])
def test_alignment_agrees_with_actions_sampled_independently(method):
    rng, policy = np.random.default_rng(5), theory.symmetric_policy(6, 0.3)
    actions = rng.choice(6, (4000, 40), p=policy)
    weight = omega(method, (actions == 0) - 0.4, np.log(policy[actions]))
    g = np.einsum("ij,ijk->ik", weight, np.eye(6)[actions] - policy)
    sampled = np.array([cosine_gap(row, policy) for row in g])
    found = alignment.run(dataclasses.replace(FROZEN, method=method), np.arange(200))
    assert stats.ttest_ind(sampled, found["misalignment"][:, 0], equal_var=False).pvalue > 1e-3


@pytest.mark.parametrize("method", ["ce", "pg"])
def test_alignment_is_finite_where_a_batch_may_carry_no_weight(method):
    config = AlignmentConfig(method=method, actions=6, batch=1, baseline=0.0)
    config.check()
    assert np.all(np.isfinite(alignment.run(config, np.arange(3))["misalignment"]))
