"""The replay buffer: a ring of transitions on the learner's device."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from delightful.agents.control.rollout import Transitions


class Replay(NamedTuple):
    """A ring buffer; the newest transitions overwrite the oldest."""

    transitions: Transitions  # of (slots, actors, ...)
    written: jax.Array  # transitions per actor so far, those overwritten included


def empty(slots: int, actors: int, observed: int, actions: int) -> Replay:
    """A buffer of `slots` transitions per actor, for observations and actions of these lengths."""
    last = ((observed,), (actions,), (), (), (), ())
    transitions = (jnp.zeros((slots, actors, *shape), jnp.float32) for shape in last)
    return Replay(Transitions(*transitions), jnp.zeros((), jnp.int32))


@jax.jit(donate_argnums=0)
def add(replay: Replay, new: Transitions) -> Replay:
    """The buffer with the transitions that follow; `replay` is donated: do not use it again.

    Its slots must be a multiple of their number, so that no write wraps around.
    """
    slots, count = replay.transitions.reward.shape[0], new.reward.shape[0]
    if slots % count:
        raise AssertionError(f"{slots} slots do not hold a whole number of {count} transitions")
    start = replay.written % slots
    put = jax.lax.dynamic_update_slice_in_dim
    pairs = zip(replay.transitions, new, strict=True)
    kept = Transitions(*(put(old, jnp.asarray(one), start, 0) for old, one in pairs))
    return Replay(kept, replay.written + count)


def sample(replay: Replay, key: jax.Array, sequences: int, length: int) -> Transitions:
    """Sample sequences, (length + 1, sequences, ...), each of one actor, without gaps in time."""
    slots, actors = replay.transitions.reward.shape
    filled = jnp.minimum(replay.written, slots)
    when, who = jax.random.split(key)
    oldest = replay.written - filled
    start = oldest + jax.random.randint(when, (sequences,), 0, filled - length)
    at = (start + jnp.arange(length + 1)[:, None]) % slots
    actor = jax.random.randint(who, (sequences,), 0, actors)
    flat = at * actors + actor
    return Transitions(
        *(jnp.take(x.reshape(-1, *x.shape[2:]), flat, axis=0) for x in replay.transitions)
    )
