"""A small decoder-only Transformer in plain JAX, for benchmarks: pre-LayerNorm, ReLU, no biases."""

from typing import Any

import jax
import jax.numpy as jnp


def initialise(key: jax.Array, vocabulary: int, tokens: int, width: int, layers: int) -> Any:
    def matrix(key: jax.Array, rows: int, columns: int) -> jax.Array:
        return jax.random.normal(key, (rows, columns)) / jnp.sqrt(rows)

    def layer(key: jax.Array) -> dict[str, jax.Array]:
        keys = jax.random.split(key, 4)
        return {
            "qkv": matrix(keys[0], width, 3 * width),
            "mix": matrix(keys[1], width, width),
            "up": matrix(keys[2], width, 4 * width),
            "down": matrix(keys[3], 4 * width, width),
        }

    first, last, *keys = jax.random.split(key, layers + 2)
    return {
        "embed": matrix(first, vocabulary, width),
        "position": jnp.zeros((tokens, width)),
        "layers": [layer(key) for key in keys],
        "out": matrix(last, width, vocabulary),
    }


def transform(parameters: Any, tokens: jax.Array, heads: int) -> Any:
    """Logits for the next token at each position."""
    hidden = parameters["embed"][tokens] + parameters["position"]
    for layer in parameters["layers"]:
        hidden = hidden + _attend(layer, _normalise(hidden), heads)
        hidden = hidden + jax.nn.relu(_normalise(hidden) @ layer["up"]) @ layer["down"]
    return _normalise(hidden) @ parameters["out"]


def _attend(layer: dict[str, jax.Array], x: jax.Array, heads: int) -> jax.Array:
    parts = (x @ layer["qkv"]).reshape(*x.shape[:2], 3, heads, -1)
    q, k, v = jnp.moveaxis(parts, 2, 0)
    return jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ layer["mix"]


def _normalise(x: jax.Array) -> jax.Array:
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred**2, -1, keepdims=True) + 1e-6)
