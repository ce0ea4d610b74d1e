"""Attention as sums of elementwise products, samples last.

As batched products of tiny matrices, of 16 or 32 features and some twenty keys, attention takes
longer than all of the network's weights. Written out as sums, it is fast on a CPU. Queries are
(heads, features, T, B), keys and values (heads, features, J, B), weights (heads, T, J, B).
"""

import functools
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata

_NEVER = -1e9  # the score of a key that must not be seen: its weight is exactly 0
_sum = functools.partial(functools.reduce, operator.add)  # written out: one fused loop


def _apart(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keep XLA from fusing the function with its surroundings.

    A reshape that follows would be fused into the sum, which then runs over an index that is
    split by division at each element: four times slower on a CPU.
    """
    compiled = jax.jit(function, inline=False)

    @functools.wraps(function)
    def run(*arrays: Any) -> Any:
        if jax.default_backend() != "cpu":
            return function(*arrays)
        with set_xla_metadata(inlineable="false"):  # type: ignore[no-untyped-call]
            return compiled(*arrays)

    return run


@_apart
def _by_feature(a: jax.Array, b: jax.Array) -> Any:
    """(h, d, T, B), (h, d, J, B) -> (h, T, J, B), summed over features."""
    return _sum(a[:, i, :, None] * b[:, i, None] for i in range(a.shape[1]))


@_apart
def _by_key(weights: jax.Array, values: jax.Array) -> Any:
    """(h, T, J, B), (h, d, J, B) -> (h, d, T, B), summed over keys."""
    return _sum(weights[:, None, :, j] * values[:, :, j, None] for j in range(values.shape[2]))


@_apart
def _by_query(weights: jax.Array, values: jax.Array) -> Any:
    """(h, T, J, B), (h, d, T, B) -> (h, d, J, B), summed over queries."""
    return _sum(weights[:, None, t] * values[:, :, t, None] for t in range(values.shape[2]))


@_apart
def _softmax(scores: jax.Array, seen: jax.Array) -> jax.Array:
    scores = jnp.where(seen, scores, _NEVER)
    powers = jnp.exp(scores - jnp.max(scores, axis=2, keepdims=True))
    return powers / jnp.sum(powers, axis=2, keepdims=True)


@_apart
def _softmax_back(weights: jax.Array, gradient: jax.Array) -> jax.Array:
    return weights * (gradient - jnp.sum(weights * gradient, axis=2, keepdims=True))


@jax.custom_vjp
def attend(queries: jax.Array, keys: jax.Array, values: jax.Array, seen: jax.Array) -> jax.Array:
    """Each query's mean of the values, weighed by softmax(q·k) over the keys that it may see.

    seen: boolean, (T, J, 1). Queries come scaled.
    """
    return _forward(queries, keys, values, seen)[0]


def _forward(
    queries: jax.Array, keys: jax.Array, values: jax.Array, seen: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, ...]]:
    weights = _softmax(_by_feature(queries, keys), seen)
    return _by_key(weights, values), (queries, keys, values, weights)


def _backward(kept: tuple[jax.Array, ...], gradient: jax.Array) -> tuple[Any, ...]:
    queries, keys, values, weights = kept
    at_scores = _softmax_back(weights, _by_feature(gradient, values))
    at_queries, at_keys = _by_key(at_scores, keys), _by_query(at_scores, queries)
    return at_queries, at_keys, _by_query(weights, gradient), None


attend.defvjp(_forward, _backward)
