"""The batches that wait for the learner, and which of those that arrive are usable."""

import threading
from collections import Counter, deque
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from delightful.agents.actor_learner.protocols import Arrays, Spec


class Batch(NamedTuple):
    """What an actor sent."""

    actor: int
    version: int  # of the parameters that sampled it: the number of updates before them
    arrays: Arrays


def counter(actors: int) -> Counter[int]:
    """A count of 0 for each actor, for two threads.

    One counts while the other reads, so all actors are in it from the start: Python refuses to go
    through a counter that gets another key meanwhile.
    """
    return Counter(dict.fromkeys(range(actors), 0))


class BatchQueue:
    """First in, first out, for two threads; when it is full, the oldest batch is dropped."""

    def __init__(self, bound: int, actors: int) -> None:
        self.dropped = counter(actors)
        self._bound = bound
        self._waiting: deque[Batch] = deque()
        self._changed = threading.Condition()

    @property
    def full(self) -> bool:
        """Whether another batch would have the oldest dropped."""
        return len(self._waiting) == self._bound

    def put(self, batch: Batch) -> None:
        """Add a batch; never waits."""
        with self._changed:
            if len(self._waiting) == self._bound:
                self.dropped[self._waiting.popleft().actor] += 1
            self._waiting.append(batch)
            self._changed.notify()

    def take(self, timeout: float) -> Batch | None:
        """The batch that arrived first; None if none has arrived after `timeout` seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting, timeout):
                return None
            return self._waiting.popleft()


def problem(layout: Mapping[str, Spec], arrays: Arrays) -> str:
    """What is wrong with a batch; empty if nothing is.

    Args:
        layout: what the learner takes.
        arrays: what an actor sent.

    Returns:
        Such as "reward has shape (3,), not (10,)".
    """
    if not isinstance(arrays, Mapping) or {*arrays} != {*layout}:
        found = ", ".join(map(str, arrays)) if isinstance(arrays, Mapping) else type(arrays)
        return f"it has {found or 'no arrays'}, not {', '.join(layout)}"
    for name, spec in layout.items():
        array = np.asarray(arrays[name])
        fits = len(array.shape) == len(spec.shape) and all(
            size in (None, found) for size, found in zip(spec.shape, array.shape, strict=True)
        )
        if not fits:
            wanted = str(spec.shape).replace("None", "any")
            return f"{name} has shape {array.shape}, not {wanted}"
        if array.dtype != np.dtype(spec.dtype):
            return f"{name} has dtype {array.dtype}, not {np.dtype(spec.dtype)}"
        if not _finite(array):
            return f"{name} has NaN or infinite values"
    return ""


def _finite(array: np.ndarray) -> bool:
    if array.dtype.kind not in "fcV":
        return True
    try:
        return bool(np.isfinite(array).all())  # of kind V too, which bfloat16 is
    except TypeError:  # structured
        return True
