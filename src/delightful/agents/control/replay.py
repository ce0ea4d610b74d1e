"""Replay: a ring of what the actors saw, on the learner's device."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from delightful.agents.control.transitions import Rows


class Replay(NamedTuple):
    rows: Rows  # of (slots, actors, ...)
    written: jax.Array  # rows per actor so far, those overwritten included


def empty(slots: int, actors: int, observed: int, actions: int) -> Replay:
    one = jnp.zeros((slots, actors))
    rows = Rows(
        jnp.zeros((slots, actors, observed)),
        jnp.zeros((slots, actors, actions)),
        one,
        one.copy(),
        one.copy(),
        one.copy(),
    )
    return Replay(rows, jnp.zeros((), jnp.int32))


@jax.jit(donate_argnums=0)
def add(replay: Replay, rows: Rows) -> Replay:
    """The rows that follow; `slots` is a multiple of their number, so that none is split."""
    slots, count = replay.rows.reward.shape[0], rows.reward.shape[0]
    if slots % count:
        raise AssertionError(f"{slots} slots do not hold a whole number of {count} rows")
    start = replay.written % slots
    put = jax.lax.dynamic_update_slice_in_dim
    kept = (
        put(old, jnp.asarray(new), start, 0) for old, new in zip(replay.rows, rows, strict=True)
    )
    return Replay(Rows(*kept), replay.written + count)


def sample(replay: Replay, key: jax.Array, sequences: int, length: int) -> Rows:
    """Sequences of `length` + 1 rows of one actor each, uniformly: (length + 1, sequences, ...)."""
    slots, actors = replay.rows.reward.shape
    filled = jnp.minimum(replay.written, slots)
    when, who = jax.random.split(key)
    oldest = replay.written - filled
    start = oldest + jax.random.randint(when, (sequences,), 0, filled - length)
    at = (start + jnp.arange(length + 1)[:, None]) % slots
    actor = jax.random.randint(who, (sequences,), 0, actors)
    flat = at * actors + actor
    return Rows(*(jnp.take(x.reshape(-1, *x.shape[2:]), flat, axis=0) for x in replay.rows))
