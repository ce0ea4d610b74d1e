"""The Gaussian policy: the same in NumPy and JAX, in its bounds, and SciPy's density."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from delightful.agents.control import networks
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.gaussian import Gaussian, divergence, policy

CONFIG = ControlConfig(width=16)
KEY = jax.random.key(0)


def test_numpy_and_jax_have_one_policy():
    actor = networks.initial_actor(KEY, CONFIG, 5, 3)
    actor = jax.tree.map(lambda x: x + 0.3 * jnp.cos(jnp.arange(x.size).reshape(x.shape)), actor)
    observation = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
    ours = policy(CONFIG, jax.tree.map(np.asarray, actor), observation)
    theirs = policy(CONFIG, actor, jnp.asarray(observation))
    for one, other in zip(ours, theirs, strict=True):
        assert isinstance(one, np.ndarray)
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_the_policy_starts_at_rest_with_the_first_deviation():
    actor = networks.initial_actor(KEY, CONFIG, 5, 3)
    mean, deviation = policy(CONFIG, actor, jax.random.normal(KEY, (100, 5)))
    assert np.abs(mean).max() < 0.5
    assert np.mean(deviation) == pytest.approx(CONFIG.deviation, abs=0.05)


def test_mean_and_deviation_stay_in_bounds_whatever_the_weights():
    actor = networks.initial_actor(KEY, CONFIG, 5, 3)
    actor = jax.tree.map(lambda x: 1e3 * x, actor)
    mean, deviation = policy(CONFIG, actor, jax.random.normal(KEY, (100, 5)))
    assert np.all(np.abs(mean) <= 1)
    assert np.all(deviation >= CONFIG.least_deviation)
    assert np.all(deviation <= CONFIG.most_deviation)


def test_the_gaussian_is_scipys():
    rng = np.random.default_rng(1)
    mean, action = rng.normal(size=(2, 10, 3))
    deviation = rng.uniform(0.1, 2, (10, 3))
    expected = stats.norm(mean, deviation).logpdf(action).sum(-1)
    np.testing.assert_allclose(Gaussian(mean, deviation).log_prob(action), expected)
    draws = np.stack([action, mean], axis=1)  # several actions at each state
    found = Gaussian(mean, deviation).log_prob(draws)
    np.testing.assert_allclose(found[:, 0], expected)


def test_the_two_parts_of_the_divergence_make_it_up():
    """KL(old ‖ new) by a fine sum over one dimension, with only the mean or deviation changed."""
    x = np.linspace(-12, 12, 200_001)
    old = stats.norm(0.3, 0.7)

    def kl(new):
        return np.sum(old.pdf(x) * (old.logpdf(x) - new.logpdf(x))) * (x[1] - x[0])

    one = jnp.ones(1)
    before = Gaussian(0.3 * one, 0.7 * one)
    moved, _ = divergence(before, Gaussian(0.9 * one, 0.7 * one))
    assert float(moved) == pytest.approx(kl(stats.norm(0.9, 0.7)), rel=1e-4)
    _, changed = divergence(before, Gaussian(0.3 * one, 1.1 * one))
    assert float(changed) == pytest.approx(kl(stats.norm(0.3, 1.1)), rel=1e-4)


def test_a_deviation_at_its_least_has_a_finite_gradient_and_no_warning():
    actor = networks.initial_actor(KEY, CONFIG, 5, 3)
    actor["spread"]["bias"] = jnp.full(3, -1000.0)
    observation = np.ones((2, 5), np.float32)
    deviation = policy(CONFIG, jax.tree.map(np.asarray, actor), observation).deviation
    np.testing.assert_array_equal(deviation, np.float32(CONFIG.least_deviation))
    gradient = jax.grad(lambda a: policy(CONFIG, a, jnp.asarray(observation)).deviation.sum())(
        actor
    )
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(gradient))
