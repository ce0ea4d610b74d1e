"""The Ray actor around a user's actor, and what its calls return.

An actor that raises sends what it raised, and is made anew in its process. Only one whose process
has died costs a new process: Ray has been seen to block while it handled an actor's failure.

Nothing here compares clocks of two processes: what an actor times, it times by itself.
"""

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from delightful.agents.actor_learner.protocols import Actor, Arrays
from delightful.lab.compiling import use_threads
from delightful.lab.errors import LabError
from delightful.lab.nodes import Inspect, Versions

BEHIND_THE_LEARNER = 5  # niceness: ten actors on its machine must not take the learner's core


class Here(NamedTuple):
    """The first answer: the actor has its process, and so its cores."""


class Warm(NamedTuple):
    """The actor was made and has sampled once."""


class Sampled(NamedTuple):
    """What an actor returns."""

    version: int
    arrays: Arrays
    fetching: float | None  # seconds until it had new parameters; None if it had them already


class Failed(NamedTuple):
    """What a user's actor raised."""

    error: str
    final: bool  # a LabError: a sentence for the user, which ends the run


class Worker:
    """The Ray actor around a user's actor."""

    def __init__(self, made: Sequence[Any], speed: float) -> None:
        import ray

        with contextlib.suppress(OSError):
            os.nice(BEHIND_THE_LEARNER)
        use_threads(1)  # before jax is first imported, which `make` may do
        self._make: Callable[[], Actor] = ray.get(made[0])
        self._speed = speed

    def here(self) -> Here:
        """Answer before the actor is made, which may take long."""
        return Here()

    def warm(self, parameters: Sequence[Any]) -> Warm | Failed:
        """Make the actor and sample once for nothing: compiling would make a first batch stale."""
        import ray

        self._version = -1
        self._parameters: Arrays = {}
        try:
            self._actor = self._make()
            self._actor.sample(ray.get(parameters[0]), np.random.default_rng(0))
        except Exception as error:
            return _failed(error)
        return Warm()

    def sample(
        self, numbers: Sequence[int], version: int, parameters: Sequence[Any]
    ) -> Sampled | Failed:
        """Sample one batch with the parameters of this version, and slow down if told so."""
        import ray

        start = time.perf_counter()
        fetching = None
        if version != self._version:
            self._version, self._parameters = version, ray.get(parameters[0])
            fetching = time.perf_counter() - start
        try:
            arrays = self._actor.sample(self._parameters, np.random.default_rng(numbers))
        except Exception as error:
            return _failed(error)
        if isinstance(arrays, Mapping):  # else the learner's side says what is wrong
            arrays = {name: np.asarray(array) for name, array in arrays.items()}
        time.sleep((1 / self._speed - 1) * (time.perf_counter() - start))
        return Sampled(version, arrays, fetching)


def checked(inspect: Inspect, ours: Versions) -> type:
    """A Worker for a node that has these versions; on another it only tells what it found.

    Nested, so that Ray sends it by value, and without a type of this package: a node that joined a
    moment ago may have another version of it, or none.

    Args:
        inspect: What looks at a node.
        ours: The versions that it must find.

    Returns:
        The class of a Ray actor.
    """
    packages, versions = list(ours), dict(ours)

    class Checked:
        def __init__(self, made: Any, speed: float) -> None:
            self.found = inspect(packages)
            if self.found == versions:
                from delightful.agents.actor_learner.worker import Worker

                self.worker = Worker(made, speed)

        def here(self) -> Any:
            import platform

            import ray

            if self.found == versions:
                return self.worker.here()
            node = f"{platform.node()} ({ray.util.get_node_ip_address()})"
            return {"node": node, "found": self.found}

        def warm(self, *arguments: Any) -> Any:
            return self.worker.warm(*arguments)

        def sample(self, *arguments: Any) -> Any:
            return self.worker.sample(*arguments)

    return Checked


def _failed(error: Exception) -> Failed:
    final = isinstance(error, LabError)
    return Failed(str(error) if final else repr(error), final)
