"""The policy: a ReLU network from pixels to ten logits."""

from itertools import accumulate, pairwise
from typing import Any

import jax
import jax.numpy as jnp

from delightful.paper.mnist.config import DIGITS, PIXELS

Layers = list[tuple[jax.Array, jax.Array]]


def initial(key: jax.Array, width: int, layers: int) -> Layers:
    """Normal weights of variance 1/inputs and zero biases, the default of JAX's libraries."""
    shapes = [(n_out, n_in) for n_in, n_out in pairwise([PIXELS, *[width] * layers, DIGITS])]
    ends = list(accumulate(n_out * n_in for n_out, n_in in shapes))
    parts = jnp.split(jax.random.normal(key, (ends[-1],)), ends[:-1])  # one draw compiles faster
    # Rows are outputs: the gradient of the first layer, the largest product, is twice as fast then.
    return [
        (part.reshape(shape) / shape[1] ** 0.5, jnp.zeros(shape[0]))
        for part, shape in zip(parts, shapes, strict=True)
    ]


def logits(network: Layers, images: jax.Array) -> Any:
    """Images as rows of pixels 0–255."""
    x = images.astype(jnp.float32) * (1 / 255)
    *hidden, (weight, bias) = network
    for w, b in hidden:
        x = jax.nn.relu(_rows_by_rows(x, w) + b)
    return _rows_by_rows(x, weight) + bias


def _rows_by_rows(x: jax.Array, w: jax.Array) -> jax.Array:
    """x wᵀ; spelled x @ w.T, XLA would write the transpose out at every step."""
    return jax.lax.dot_general(x, w, (((1,), (1,)), ((), ())))
