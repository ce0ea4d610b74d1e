"""A small decoder-only Transformer in plain JAX, for benchmarks: pre-LayerNorm, ReLU, no biases."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_normalise = partial(jax.nn.standardize, epsilon=1e-6)


def initialise(vocabulary: int, tokens: int, width: int, layers: int) -> Any:
    rng = np.random.default_rng(0)
    products = {"qkv": (width, 3 * width), "mix": (width, width)}
    products |= {"up": (width, 4 * width), "down": (4 * width, width)}

    def matrix(rows: int, columns: int) -> jax.Array:
        return jnp.asarray(rng.normal(size=(rows, columns)) / rows**0.5, jnp.float32)

    return {
        "embed": matrix(vocabulary, width),
        "position": jnp.zeros((tokens, width)),
        "layers": [{name: matrix(*s) for name, s in products.items()} for _ in range(layers)],
        "out": matrix(width, vocabulary),
    }


def transform(parameters: Any, tokens: jax.Array, heads: int) -> Any:
    """Logits for the next token at each position."""
    x = parameters["embed"][tokens] + parameters["position"]
    for layer in parameters["layers"]:
        parts = (_normalise(x) @ layer["qkv"]).reshape(*x.shape[:2], 3, heads, -1)
        q, k, v = jnp.moveaxis(parts, 2, 0)
        mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape)
        x = x + mixed @ layer["mix"]
        x = x + jax.nn.relu(_normalise(x) @ layer["up"]) @ layer["down"]
    return _normalise(x) @ parameters["out"]
