"""The Transformer against a plain one; its samples against its probabilities."""

import itertools
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from delightful.agents.tokens import network
from delightful.agents.tokens.config import TokensConfig

TINY = TokensConfig(
    length=4, vocabulary=3, prompts=3, samples=2, width=8, layers=2, heads=2, feedforward=12
)
MANY = replace(TINY, samples=4000)
RNG = np.random.default_rng(0)
PROMPTS = RNG.integers(0, 3, (4, 3), dtype=np.int32)
CHANCE = RNG.random((4, MANY.batch), dtype=np.float32)


def _plain(policy: network.Transformer, config: TokensConfig, prompts: Any, answers: Any) -> Any:
    """log π of every token at every place, (M, H, N·S), each answer's sequence fed in whole."""
    repeated = jnp.repeat(prompts, answers.shape[1] // prompts.shape[1], axis=1)
    fed = jnp.concatenate([repeated, answers[:-1]]).T
    count, length = fed.shape
    x = policy.tokens.T[fed] + policy.positions.T[None, :length]
    for layer in policy.layers:
        q, k, v = jnp.split(_layer_norm(x) @ layer.qkv.T, 3, axis=2)
        heads = (count, length, config.heads, config.width // config.heads)
        q, k, v = (part.reshape(heads) for part in (q, k, v))
        scores = jnp.einsum("bthd,bjhd->bhtj", q, k) / np.sqrt(heads[-1])
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
        mixed = jnp.einsum("bhtj,bjhd->bthd", jax.nn.softmax(scores, axis=-1), v)
        x = x + mixed.reshape(count, length, -1) @ layer.mix.T
        x = x + jnp.maximum(_layer_norm(x) @ layer.up.T, 0) @ layer.down.T
    logits = _layer_norm(x)[:, config.length - 1 :] @ policy.out.T
    return jnp.transpose(jax.nn.log_softmax(logits, axis=-1), (2, 1, 0))


def _layer_norm(x: Any) -> Any:
    mean, variance = jnp.mean(x, axis=-1, keepdims=True), jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-6)


@pytest.fixture(scope="module")
def policy(quick_jit) -> network.Transformer:
    return quick_jit(lambda key: network.initial(key, TINY))(jax.random.key(1))


@pytest.fixture(scope="module")
def read(policy):
    """log π of 4,000 answers to each of three prompts."""
    compiled = jax.jit(lambda prompts, answers: network.log_policy(policy, MANY, prompts, answers))
    return lambda prompts, answers: np.asarray(compiled(prompts, answers))


@pytest.fixture(scope="module")
def sample(policy):
    compiled = jax.jit(lambda prompts, chance: network.sample(policy, MANY, prompts, chance))
    return lambda prompts, chance: tuple(map(np.asarray, compiled(prompts, chance)))


@pytest.fixture(scope="module")
def drawn(sample) -> tuple[np.ndarray, np.ndarray]:
    return sample(PROMPTS, CHANCE)


def test_it_is_a_plain_transformer_forward_and_backward(policy, quick_jit) -> None:
    answers = RNG.integers(0, 3, (4, 6), dtype=np.int32)
    weights = RNG.normal(size=(3, 4, 6))

    def both(function):
        def weighed(policy):
            log_policy = function(policy, TINY, PROMPTS, answers)
            return jnp.sum(weights * log_policy), log_policy

        run = quick_jit(jax.value_and_grad(weighed, has_aux=True))
        (_, log_policy), gradient = run(precise)
        return log_policy, gradient

    with jax.enable_x64(True):
        precise = jax.tree.map(lambda x: jnp.asarray(np.asarray(x), jnp.float64), policy)
        (ours, our_gradient), (theirs, their_gradient) = both(network.log_policy), both(_plain)
    assert ours.dtype == np.float64
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.exp(ours).sum(axis=0), 1, rtol=1e-12)
    paths = jax.tree_util.tree_flatten_with_path(our_gradient)[0]
    assert len(paths) == 3 + 4 * TINY.layers
    for (path, found), expected in zip(paths, jax.tree.leaves(their_gradient), strict=True):
        assert np.max(np.abs(expected)) > 1e-3, path
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11, err_msg=str(path))


def test_it_starts_with_weights_of_variance_1_over_inputs(quick_jit) -> None:
    config = TokensConfig(vocabulary=5)
    built = quick_jit(lambda key: network.initial(key, config))(jax.random.key(0))
    embeddings = {(64, 5): built.tokens, (64, 19): built.positions}
    products = [*itertools.chain(*built.layers), built.out]
    for shape, weights in embeddings.items():
        assert weights.shape == shape
        _has_deviation(weights, 1)
    shapes = [(192, 64), (64, 64), (128, 64), (64, 128)] * 2 + [(5, 64)]
    for shape, weights in zip(shapes, products, strict=True):
        assert weights.shape == shape
        _has_deviation(weights, shape[1] ** -0.5)


def _has_deviation(weights: jax.Array, deviation: float) -> None:
    n = weights.size
    assert abs(np.mean(weights)) < 4 * deviation / n**0.5
    assert np.std(weights) == pytest.approx(deviation, rel=4 / (2 * n) ** 0.5)


def test_sampling_gives_the_log_policy_of_the_answers_it_draws(read, drawn) -> None:
    answers, log_policy = drawn
    assert answers.shape == (4, MANY.batch)
    assert log_policy.shape == (3, 4, MANY.batch)
    np.testing.assert_allclose(log_policy, read(PROMPTS, answers), atol=1e-5)


def test_a_token_is_drawn_where_chance_falls_among_the_probabilities(drawn) -> None:
    answers, log_policy = drawn
    ends = np.exp(log_policy.astype(np.float64)).cumsum(axis=0)
    checked = 0
    for place, i in itertools.product(range(4), range(0, MANY.batch, 10)):
        chance, upto = CHANCE[place, i], ends[:, place, i]
        if np.min(np.abs(upto[:-1] - chance)) > 1e-6:
            assert answers[place, i] == np.searchsorted(upto[:-1], chance, side="right")
            checked += 1
    assert checked > 4790


def test_the_least_chance_gives_the_first_token_and_the_greatest_the_last(sample) -> None:
    least, greatest = 0.0, np.nextafter(np.float32(1), np.float32(0))
    for chance, token in ((least, 0), (greatest, 2)):
        answers, _ = sample(PROMPTS, np.full_like(CHANCE, chance))
        assert np.all(answers == token)


def test_answers_are_drawn_as_often_as_the_policy_says(read, drawn) -> None:
    answers, _ = drawn
    every = np.array(list(itertools.product(range(3), repeat=4)), np.int32).T
    columns = np.tile(np.resize(every.T, (MANY.samples, 4)).T, 3)
    log_policy = read(PROMPTS, columns)
    log_probs = np.take_along_axis(log_policy, columns[None], axis=0)[0].sum(axis=0)
    exact = np.exp(log_probs.astype(np.float64)).reshape(3, -1)[:, :81]
    np.testing.assert_allclose(exact.sum(axis=1), 1, atol=1e-5)

    numbers = (np.array([27, 9, 3, 1]) @ answers).reshape(3, -1)
    n = MANY.samples
    for of_prompt, expected in zip(numbers, exact, strict=True):
        counts = np.bincount(of_prompt, minlength=81)
        assert np.min(n * expected) > 5
        spread = np.sqrt(n * expected * (1 - expected))
        assert np.max(np.abs(counts - n * expected) / spread) < 5


def test_a_prompt_has_no_influence_on_the_others_answers(read, sample, drawn) -> None:
    answers, log_policy = drawn
    others = np.arange(MANY.batch) // MANY.samples != 1
    before = read(PROMPTS, answers)
    for place in range(4):
        changed = PROMPTS.copy()
        changed[place, 1] = (changed[place, 1] + 1) % 3
        after = read(changed, answers)
        np.testing.assert_array_equal(after[..., others], before[..., others])
        assert np.all(np.abs(after - before)[..., ~others].max(axis=(0, 1)) > 1e-4)
    new_answers, new_log_policy = sample(changed, CHANCE)
    np.testing.assert_array_equal(new_answers[:, others], answers[:, others])
    np.testing.assert_array_equal(new_log_policy[..., others], log_policy[..., others])


def test_a_token_has_influence_only_on_the_rest_of_its_own_answer(read, drawn) -> None:
    answers, _ = drawn
    before = read(PROMPTS, answers)
    chosen = np.arange(MANY.batch) % MANY.samples == 7
    for place in range(4):
        changed = answers.copy()
        changed[place, chosen] = (changed[place, chosen] + 1) % 3
        after = read(PROMPTS, changed)
        np.testing.assert_array_equal(after[..., ~chosen], before[..., ~chosen])
        np.testing.assert_array_equal(after[:, : place + 1], before[:, : place + 1])
        differences = np.abs(after - before)[:, place + 1 :, chosen]
        assert np.all(differences.max(axis=0) > 1e-4)


def test_the_first_token_depends_on_nothing_but_the_prompt(drawn) -> None:
    _, log_policy = drawn
    first = log_policy[:, 0].reshape(3, 3, -1)
    np.testing.assert_array_equal(first, np.broadcast_to(first[..., :1], first.shape))
    assert np.all(np.abs(np.diff(first[..., 0], axis=1)).max(axis=0) > 1e-3)
