"""Many contexts: population gradients against the closed forms of Section 4.2, in NumPy."""

import dataclasses

import jax
import numpy as np
import pytest

from delightful import METHODS, theory
from delightful.lab.cells import Plan
from delightful.lab.errors import LabError
from delightful.paper.contexts import sweep, train
from delightful.paper.contexts.config import ContextsConfig

SMALL = ContextsConfig(contexts=4, actions=3, steps=3)
BATCHWISE = [name for name, method in METHODS.items() if method.batchwise]
PER_SAMPLE = [name for name in METHODS if name not in BATCHWISE]


def start(seed, config):
    """The logits that training starts from."""
    shape = (config.contexts, config.actions)
    return config.init_scale * np.asarray(jax.random.normal(jax.random.key(seed), shape), float)


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def by_hand(coefficient, z, config):
    """Errors and misalignments of g = Σ c(p_n) v_n under normalised steps, in float64."""
    errors, gaps, gradients = [], [], []
    for _ in range(config.steps):
        policy = softmax(z)
        v = np.eye(config.actions)[0] - policy
        g = coefficient(policy[:, 0])[:, None] * v
        cosine = np.sum(g * v) / np.linalg.norm(g) / np.linalg.norm(v)
        errors.append(np.mean(1 - policy[:, 0]))
        gaps.append(1 - cosine)
        gradients.append(g)
        z = z + config.step_size * g / np.linalg.norm(g)
    return np.array(errors), np.array(gaps), np.array(gradients)


COEFFICIENTS = {
    "ce": np.ones_like,
    "pg": lambda p: p,
    "dg": theory.dg_weight,
    "dg:temperature=0.4": lambda p: p / (1 + p**2.5),
}


@pytest.fixture
def normalised(monkeypatch):
    """The vectors that training normalises: each step's gradient, then its oracle."""
    vectors, unit = [], train.unit
    monkeypatch.setattr(
        train, "unit", lambda xp, v: (vectors.append(np.asarray(v)), unit(xp, v))[1]
    )
    return vectors


@pytest.mark.parametrize("method", ["pg", "dg", "ce"])
def test_the_population_gradient_is_the_closed_form(method, normalised):
    config = dataclasses.replace(SMALL, method=method)
    with jax.disable_jit():
        train.train(config, {}, jax.random.key(2))
    gradients = by_hand(COEFFICIENTS[method], start(2, config), config)[2]
    assert np.array(normalised[::2]).reshape(gradients.shape) == pytest.approx(gradients, abs=1e-6)


@pytest.mark.parametrize("method", COEFFICIENTS)
def test_the_records_are_those_of_the_closed_form(method):
    config = dataclasses.replace(SMALL, method=method, step_size=0.5, init_scale=1.5)
    curves = train.run(config, np.array([0, 5]))
    for row, seed in enumerate((0, 5)):
        errors, gaps, _ = by_hand(COEFFICIENTS[method], start(seed, config), config)
        assert curves["error"][row] == pytest.approx(errors, abs=1e-6)
        assert curves["misalignment"][row] == pytest.approx(gaps, abs=1e-6)
    if method == "ce":
        assert curves["misalignment"].max() < 1e-12


def test_a_baseline_adds_what_wrong_actions_weigh(normalised):
    config = dataclasses.replace(SMALL, method="dg", baseline=0.6)
    with jax.disable_jit():
        train.train(config, {}, jax.random.key(2))
    expected = np.zeros((4, 3))
    for n, policy in enumerate(softmax(start(2, config))):
        for action, p in enumerate(policy):
            U = (action == 0) - 0.6
            expected[n] += p * U / (1 + p**U) * (np.eye(3)[action] - policy)
    assert normalised[0].reshape(expected.shape) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("method", ["pg", "dg"])
def test_results_do_not_depend_on_compilation(method):
    config = dataclasses.replace(SMALL, method=method)
    compiled = train.run(config, np.arange(2))
    with jax.disable_jit():
        eager = train.run(config, np.arange(2))
    for name, values in compiled.items():
        assert values == pytest.approx(eager[name], abs=1e-5)


@pytest.mark.parametrize("method", BATCHWISE)
def test_a_method_that_weighs_batches_is_refused_in_a_sentence(method):
    with pytest.raises(LabError) as refusal:
        sweep.TRAINING.cells(Plan("smoke", methods=(method,)))
    sentence = str(refusal.value)
    assert sentence.endswith(".")
    assert f"got {method}" in sentence
    assert ", ".join(PER_SAMPLE) in sentence


@pytest.mark.parametrize("method", sorted(set(PER_SAMPLE) - {"pg", "dg", "ce"}))
def test_every_per_sample_method_trains(method):
    config = dataclasses.replace(SMALL, method=method)
    config.check()
    with jax.disable_jit():  # compiling each would take longer than all the rest
        curves = train.run(config, np.arange(2))
    assert curves["error"].shape == (2, 3)
    assert all(np.all(np.isfinite(values)) for values in curves.values())


def test_a_gradient_of_zero_takes_no_step_and_gives_no_nan():
    config = dataclasses.replace(SMALL, method="ce", baseline=1.0)  # U > 0 nowhere
    config.check()
    with jax.disable_jit():
        curves = train.run(config, np.arange(2))
    assert np.all(np.isfinite(curves["error"]))
