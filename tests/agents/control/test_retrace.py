"""Retrace against its definition, term by term in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delightful.agents.control.losses import retrace


def by_definition(q, next_value, reward, discount, log_ratio, trace):
    """Q + Σ_k (Π γ_{i−1}·c_i) δ_k, with no recursion."""
    length = len(q)
    error = reward + discount * next_value - q
    c = trace * np.minimum(1, np.exp(log_ratio))
    found = q.copy()
    for t in range(length):
        for k in range(t, length):
            factors = [discount[i - 1] * c[i] for i in range(t + 1, k + 1)]
            found[t] += np.prod(factors, axis=0) * error[k]
    return found


def batch(seed, length=6, sequences=3):
    rng = np.random.default_rng(seed)
    q, value, reward = rng.normal(size=(3, length, sequences))
    discount = 0.9 * rng.integers(0, 2, (length, sequences))
    return q, value, reward, discount, rng.normal(size=(length, sequences))


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 8]), st.floats(0, 1))
def test_is_its_definition(seed, length, trace):
    arrays = batch(seed, length)
    found = jax.jit(retrace)(*map(jnp.asarray, arrays), trace)
    np.testing.assert_allclose(found, by_definition(*arrays, trace), rtol=1e-4, atol=1e-5)


def test_on_policy_with_full_traces_it_is_the_discounted_return():
    length, gamma = 5, 0.9
    q, value = jnp.zeros((length, 1)), jnp.zeros((length, 1))
    reward = jnp.arange(1.0, length + 1)[:, None]
    found = retrace(q, value, reward, gamma * jnp.ones_like(q), jnp.zeros_like(q), 1.0)
    returns = [sum(gamma ** (k - t) * (k + 1) for k in range(t, length)) for t in range(length)]
    np.testing.assert_allclose(found[:, 0], returns, rtol=1e-5)


def test_nothing_is_learned_from_beyond_an_impossible_step():
    q, value, reward, discount, log_ratio = batch(0)
    log_ratio[3] = -np.inf
    before = retrace(*map(jnp.asarray, (q, value, reward, discount, log_ratio)), 1.0)
    reward[3:] += 100
    after = retrace(*map(jnp.asarray, (q, value, reward, discount, log_ratio)), 1.0)
    np.testing.assert_array_equal(before[:3], after[:3])
    assert np.all(np.asarray(after[3:]) != np.asarray(before[3:]))


def test_without_traces_it_is_one_step():
    q, value, reward, discount, log_ratio = batch(1)
    found = retrace(*map(jnp.asarray, (q, value, reward, discount, log_ratio)), 0.0)
    assert found == pytest.approx(reward + discount * value, abs=1e-5)
