"""The table c against the losses it stands for, differentiated by JAX from their definitions."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delightful.losses import entropy_bonus, policy_loss
from delightful.paper.mnist import feedback
from delightful.paper.mnist.config import BASELINES, MnistConfig
from delightful.paper.mnist.train import at_logits
from delightful.registry import METHODS, parse_method, weighs_batches

CONFIG = MnistConfig(batch=16)
LOGITS = 2 * jax.random.normal(jax.random.key(0), (16, 10))
RIGHT = jax.nn.one_hot(jax.random.randint(jax.random.key(1), (16,), 0, 10), 10)


def _gradient(config: MnistConfig, logits=LOGITS) -> np.ndarray:
    method, options = parse_method(config.method)
    log_policy = jax.nn.log_softmax(logits)
    config = replace(config, method=method.name)
    table = feedback.coefficients(config, options, _chance(config.samples), log_policy, RIGHT)
    return np.asarray(at_logits(log_policy, table))


def _chance(samples: int, images: int = 16) -> jax.Array:
    return jax.random.uniform(jax.random.key(7), (samples, images))


def _draws(samples: int) -> np.ndarray:
    """The actions that these chances give, (images, draws), from the running sums alone."""
    below = feedback.at_or_below(_chance(samples), jax.nn.softmax(LOGITS))
    return np.asarray(9 - below.sum(axis=1)).T.astype(int)


SPECS = [*METHODS, "dg:temperature=0.3", "dg:whiten=scale"]


@pytest.mark.parametrize("samples", [1, 7])
@pytest.mark.parametrize(
    ("method", "baseline"), [*((m, "expected") for m in SPECS), *(("dg", b) for b in BASELINES)]
)
def test_the_table_gives_the_gradient_of_the_policy_loss(method, samples, baseline) -> None:
    actions = jnp.asarray(_draws(samples))
    policy = jax.nn.softmax(LOGITS)
    label = RIGHT.argmax(axis=1)
    b = {
        "zero": jnp.zeros(16),
        "constant": jnp.full(16, 0.5),
        "expected": (policy * policy).sum(axis=1),
        "oracle": policy[jnp.arange(16), label],
    }[baseline]
    advantage = (actions == label[:, None]) - b[:, None]
    found, options = parse_method(method)

    def loss(logits):
        log_prob = jnp.take_along_axis(jax.nn.log_softmax(logits), actions, axis=1)
        axis = 1 if samples > 1 and weighs_batches(method) else None
        return policy_loss(log_prob, advantage, method=found.name, axis=axis, **options)

    ours = _gradient(replace(CONFIG, method=method, samples=samples, baseline=baseline))
    np.testing.assert_allclose(ours, jax.grad(loss)(LOGITS), rtol=1e-4, atol=2e-6)


def test_the_limit_of_pg_is_the_pg_oracle_whatever_the_baseline() -> None:
    oracle = jax.grad(lambda z: -jnp.mean(jnp.sum(RIGHT * jax.nn.softmax(z), axis=1)))(LOGITS)
    for baseline in BASELINES:
        ours = _gradient(replace(CONFIG, method="pg", samples=0, baseline=baseline))
        np.testing.assert_allclose(ours, oracle, atol=1e-7)


def test_the_limit_of_ce_is_supervised_learning_also_of_hopeless_labels() -> None:
    for logits in (LOGITS, 100 * LOGITS):
        log_likelihood = jax.nn.log_softmax(logits)
        assert float(jnp.min(jnp.sum(RIGHT * log_likelihood, axis=1))) < (
            -4 if logits is LOGITS else -200
        )
        oracle = jax.grad(lambda z: -jnp.mean(jnp.sum(RIGHT * jax.nn.log_softmax(z), axis=1)))(
            logits
        )
        ours = _gradient(replace(CONFIG, method="ce", samples=0, baseline="zero"), logits)
        np.testing.assert_allclose(ours, oracle, atol=1e-6)


def test_many_samples_approach_the_limit() -> None:
    limit = _gradient(replace(CONFIG, samples=0))
    near = _gradient(replace(CONFIG, samples=100_000))
    np.testing.assert_allclose(near, limit, atol=3e-4)


def test_the_entropy_bonus_is_the_estimators() -> None:
    plain, with_bonus = (_gradient(replace(CONFIG, entropy=alpha)) for alpha in (0.0, 0.3))
    bonus = jax.grad(entropy_bonus)(LOGITS)
    np.testing.assert_allclose(with_bonus - plain, 0.3 * bonus, atol=1e-6)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 50), st.integers(1, 30))
@settings(max_examples=30, deadline=None)
def test_draws_are_whole_numbers_that_add_up(seed, sharpness, samples) -> None:
    logits = sharpness * jax.random.normal(jax.random.key(seed), (4, 10))
    policy = jax.nn.softmax(logits)
    chance = jax.random.uniform(jax.random.key(seed + 1), (samples, 4))
    below = feedback.at_or_below(chance, policy)
    counts = np.asarray(feedback._counts(below.sum(axis=0), samples)).T
    assert np.all(counts == np.round(counts))
    assert np.all(counts >= 0)
    assert np.all(counts.sum(axis=1) == samples)
    assert np.all(counts[np.asarray(policy) < 1e-9] == 0)


def test_actions_are_drawn_as_often_as_the_policy_says() -> None:
    policy = jax.nn.softmax(LOGITS)
    n = 40_000
    below = feedback.at_or_below(_chance(n), policy)
    shares = np.asarray(feedback._counts(below.sum(axis=0), n)).T / n
    spread = np.sqrt(np.asarray(policy) * (1 - np.asarray(policy)) / n)
    assert np.max(np.abs(shares - policy) / (spread + 1e-6)) < 5
