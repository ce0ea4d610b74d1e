"""The policy: a decoder-only Transformer, pre-LayerNorm, ReLU, no biases, learned positions.

Activations have features first and samples last: (features, positions·samples). All samples of a
prompt share the prompt's activations, in sampling and in training; that is exact, since with
causal attention a prompt does not see its answers, and it nearly halves the tokens.

LayerNorm has no scale and no shift: the product that follows can learn the scale, and there are
no biases. Everything that is added to the residual stream has mean 0 over the features, so that
dividing by the root mean square is LayerNorm.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from delightful.agents.tokens.attention import attend
from delightful.agents.tokens.config import TokensConfig

_EXACT = jax.lax.Precision.HIGHEST  # a GPU would round values that are only copied


class Layer(NamedTuple):
    qkv: jax.Array  # (3·d, d)
    mix: jax.Array  # (d, d)
    up: jax.Array  # (f, d)
    down: jax.Array  # (d, f)


class Transformer(NamedTuple):
    tokens: jax.Array  # (d, M)
    positions: jax.Array  # (d, 2H − 1)
    layers: tuple[Layer, ...]
    out: jax.Array  # (M, d)


def initial(key: jax.Array, config: TokensConfig) -> Transformer:
    """Normal weights of variance 1/inputs; embeddings of variance 1.

    Args:
        key: determines the weights.
        config: sizes.

    Returns:
        The weights of a new policy.
    """
    d, f, m = config.width, config.feedforward, config.vocabulary
    embeddings = [(d, m), (d, 2 * config.length - 1)]
    shapes = [*embeddings, *[(3 * d, d), (d, d), (f, d), (d, f)] * config.layers, (m, d)]
    ends = np.cumsum([rows * columns for rows, columns in shapes])
    parts = jnp.split(jax.random.normal(key, (ends[-1],)), ends[:-1])  # one draw compiles faster
    parts = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    tokens, positions, *products = parts
    *inner, out = [part / part.shape[1] ** 0.5 for part in products]
    layers = tuple(Layer(*inner[i : i + 4]) for i in range(0, len(inner), 4))
    return Transformer(tokens, positions, layers, out)


def log_policy(
    network: Transformer, config: TokensConfig, prompts: jax.Array, answers: jax.Array
) -> jax.Array:
    """log π of every token at every place of the answers.

    Args:
        network: the policy.
        config: sizes.
        prompts: tokens, (H, N).
        answers: tokens, (H, N·S); at each place those before it are seen.

    Returns:
        log π, (M, H, N·S).
    """
    h, n, b = config.length, prompts.shape[1], answers.shape[1]
    fed = jnp.concatenate([prompts.ravel(), answers[:-1].ravel()])
    where = np.concatenate([np.repeat(np.arange(h), n), np.repeat(np.arange(h, 2 * h - 1), b)])
    causal = np.tril(np.ones((h, h), bool))[..., None]
    seen = np.concatenate([np.ones((h - 1, h, 1), bool), causal[:-1, :-1]], axis=1)

    def mixed(_: int, qkv: jax.Array) -> jax.Array:
        of_prompts = qkv[..., : h * n].reshape(*qkv.shape[:3], h, n)
        q, k, v = qkv[..., h * n :].reshape(*qkv.shape[:3], h - 1, b)
        keys = jnp.concatenate([_spread(of_prompts[1], b), k], axis=2)
        values = jnp.concatenate([_spread(of_prompts[2], b), v], axis=2)
        parts = attend(*of_prompts, causal), attend(q, keys, values, seen)
        return jnp.concatenate([p.reshape(config.width, -1) for p in parts], axis=1)

    x = _through(network, config, fed, where, mixed)
    first, rest = x[:, (h - 1) * n : h * n], x[:, h * n :]
    logits = network.out @ jnp.concatenate([_spread(first, b), rest], axis=1)
    return jax.nn.log_softmax(logits.reshape(-1, h, b), axis=0)


def sample(
    network: Transformer, config: TokensConfig, prompts: jax.Array, uniforms: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Sample an answer for each sample of each prompt.

    Args:
        network: the policy.
        config: sizes.
        prompts: tokens, (H, N).
        uniforms: uniform random numbers, (H, N·S), that decide the tokens.

    Returns:
        Answers, (H, N·S), and log π of every token at every place, (M, H, N·S).
    """
    h, b = config.length, uniforms.shape[1]
    logits, caches = _read(network, config, prompts, b)

    def place(state: tuple[Any, ...], t: jax.Array) -> tuple[Any, Any]:
        logits, caches = state
        token, log_p = _draw(logits, uniforms[t])
        seen = (jnp.arange(2 * h - 1) <= h + t)[None, :, None]
        filled = []

        def mixed(layer: int, qkv: jax.Array) -> jax.Array:
            q, k, v = qkv[..., None, :]
            keys, values = (
                jax.lax.dynamic_update_slice_in_dim(cache, new, h + t, axis=2)
                for cache, new in zip(caches[layer], (k, v), strict=True)
            )
            filled.append((keys, values))
            return attend(q, keys, values, seen).reshape(config.width, b)

        x = _through(network, config, token, jnp.full(b, h + t), mixed)
        return (network.out @ x, filled), (token, log_p)

    (logits, _), (answers, log_policies) = jax.lax.scan(place, (logits, caches), jnp.arange(h - 1))
    last, log_p = _draw(logits, uniforms[h - 1])
    answers = jnp.concatenate([answers, last[None]])
    return answers, jnp.concatenate([log_policies, log_p[None]]).swapaxes(0, 1)


def _read(
    network: Transformer, config: TokensConfig, prompts: jax.Array, b: int
) -> tuple[jax.Array, list[tuple[jax.Array, ...]]]:
    """The logits of the first answered token, and keys and values with room for the answers."""
    h, n = prompts.shape
    causal = np.tril(np.ones((h, h), bool))[..., None]
    caches = []

    def mixed(_: int, qkv: jax.Array) -> jax.Array:
        q, k, v = qkv.reshape(*qkv.shape[:3], h, n)
        room = ((0, 0), (0, 0), (0, h - 1), (0, 0))
        caches.append(tuple(jnp.pad(_spread(x, b), room) for x in (k, v)))
        return attend(q, k, v, causal).reshape(config.width, -1)

    x = _through(network, config, prompts.ravel(), np.repeat(np.arange(h), n), mixed)
    return _spread(network.out @ x[:, (h - 1) * n :], b), caches


def _draw(logits: jax.Array, uniforms: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A token for each sample, by inverting the distribution function; and log π."""
    log_p = jax.nn.log_softmax(logits, axis=0)
    below = jnp.cumsum(jnp.exp(log_p[:-1]), axis=0)  # the last token takes what is left
    return jnp.sum(uniforms >= below, axis=0), log_p


def _through(
    network: Transformer,
    config: TokensConfig,
    tokens: jax.Array,
    where: Any,
    mixed: Callable[[int, jax.Array], jax.Array],
) -> jax.Array:
    """Embedding, layers, norm; mixed(layer, qkv) attends, on (3, heads, features, columns)."""
    # Products with one-hot columns: faster than a lookup on a CPU, and their gradient far faster.
    token = jax.nn.one_hot(tokens, network.tokens.shape[1], axis=0)
    place = jax.nn.one_hot(where, network.positions.shape[1], axis=0)
    x = jnp.matmul(_centred(network.tokens), token, precision=_EXACT)
    x = x + jnp.matmul(_centred(network.positions), place, precision=_EXACT)
    per_head = config.width // config.heads
    # Queries are scaled through their weights, of which there are fewer.
    scale = np.repeat(np.array([[per_head**-0.5], [1], [1]], np.float32), config.width, axis=0)
    for i, layer in enumerate(network.layers):
        qkv = (layer.qkv * scale @ _norm(x)).reshape(3, config.heads, per_head, -1)
        x = x + _centred(layer.mix) @ mixed(i, qkv)
        x = x + _centred(layer.down) @ jax.nn.relu(layer.up @ _norm(x))
    return _norm(x) if config.final_norm else x


def _spread(x: jax.Array, b: int) -> jax.Array:
    """From one column per prompt to one per sample, as a product, whose gradient is one too."""
    copies = np.repeat(np.eye(x.shape[-1], dtype=np.float32), b // x.shape[-1], axis=1)
    return jnp.matmul(x, copies, precision=_EXACT)


def _centred(weights: jax.Array) -> jax.Array:
    return weights - jnp.mean(weights, axis=0)


def _norm(x: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=0) + 1e-6)
