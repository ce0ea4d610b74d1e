"""Attention against a plain one of einsum and softmax, in double precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from delightful.agents.tokens.attention import attend

HEADS, FEATURES, SAMPLES = 2, 3, 5
MASKS = {
    "causal": np.tril(np.ones((4, 4), bool)),
    "one query of a half-filled cache": np.arange(6)[None] < 4,
    "a prompt, the answer so far, and a key that none sees": np.tril(np.ones((3, 7), bool), 3),
}


def _plain(queries, keys, values, seen):
    scores = jnp.einsum("hdtb,hdjb->htjb", queries, keys)
    weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=2)
    return jnp.einsum("htjb,hdjb->hdtb", weights, values)


def _back(function):
    """What it gives, and what comes back to queries, keys and values."""

    def run(arrays, seen, gradient):
        found, back = jax.vjp(lambda *a: function(*a, seen), *arrays)
        return found, *back(gradient)

    return run


@pytest.fixture(scope="module")
def attended(quick_jit):
    return quick_jit(_back(attend))


@pytest.fixture(scope="module")
def plainly(quick_jit):
    return quick_jit(_back(_plain))


def _arrays(seen: np.ndarray, size: float = 1.0) -> tuple[list[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    queries, keys = seen.shape
    shapes = [(HEADS, FEATURES, n, SAMPLES) for n in (queries, keys, keys, queries)]
    *arrays, gradient = [size * rng.normal(size=shape) for shape in shapes]
    return arrays, gradient


@pytest.mark.parametrize("name", MASKS)
def test_it_is_plain_attention_forward_and_backward(name, attended, plainly) -> None:
    seen = MASKS[name][..., None]
    arrays, gradient = _arrays(MASKS[name])
    with jax.enable_x64(True):
        ours, theirs = (run(arrays, seen, gradient) for run in (attended, plainly))
    for found, expected in zip(ours, theirs, strict=True):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_single_precision_holds_for_scores_of_any_size(attended, plainly) -> None:
    seen = MASKS["causal"]
    arrays, gradient = _arrays(seen, size=30.0)
    ours = attended(arrays, seen[..., None], gradient)
    with jax.enable_x64(True):
        theirs = plainly(arrays, seen[..., None], gradient)
    for found, expected in zip(ours, theirs, strict=True):
        assert found.dtype == np.float32
        assert np.all(np.isfinite(found))
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=0.05)


def test_a_key_that_must_not_be_seen_has_no_influence_at_all(attended) -> None:
    seen = MASKS["causal"]
    (queries, keys, values), gradient = _arrays(seen)
    before, *_ = attended([queries, keys, values], seen[..., None], gradient)
    for j in range(1, 4):
        other_keys, other_values = keys.copy(), values.copy()
        other_keys[:, :, j], other_values[:, :, j] = 50 * keys[:, :, j], 1e6
        after, *_ = attended([queries, other_keys, other_values], seen[..., None], gradient)
        np.testing.assert_array_equal(after[:, :, :j], before[:, :, :j])
        assert np.all(np.abs(after[:, :, j:] - before[:, :, j:]) > 0)


def test_nothing_comes_back_from_a_query_to_the_keys_it_does_not_see(attended) -> None:
    seen = MASKS["causal"]
    arrays, gradient = _arrays(seen)
    gradient[:, :, 2:] = 0
    _, to_queries, to_keys, to_values = attended(arrays, seen[..., None], gradient)
    for back in (to_queries, to_keys, to_values):
        assert np.all(back[:, :, 2:] == 0)
        assert np.all(back[:, :, 1] != 0)
