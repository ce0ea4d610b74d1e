"""Ray actors, and the thread that keeps all of them sampling.

Every actor has one call under way. When its batch arrives, a thread of its own in the learner's
process answers at once with the next call, which carries a reference to the newest parameters. So
an actor never waits for the learner, and staleness is what sampling and queueing bring about.

An actor that raises sends what it raised, and is made anew in its process. Only one whose process
has died costs a new process: Ray has been seen to block while it handled an actor's failure.

Nothing here compares clocks of two processes: what an actor times, it times by itself.
"""

import contextlib
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from delightful.agents.actor_learner.config import ActorLearnerConfig
from delightful.agents.actor_learner.protocols import Actor, Arrays, Spec
from delightful.agents.actor_learner.queue import Batch, BatchQueue, problem
from delightful.lab.cluster import ONE_THREAD
from delightful.lab.compiling import use_threads
from delightful.lab.errors import LabError

ATTEMPTS = 3  # at starting an actor
SILENCE = 120.0  # seconds without a sign of life from the thread: then Ray blocks it
REJECTED = 100  # unusable batches in a row, of all actors: then nothing will come
BEHIND_THE_LEARNER = 5  # niceness: ten actors on its machine must not take the learner's core


class Sampled(NamedTuple):
    """What an actor returns."""

    version: int
    arrays: Arrays
    fetching: float  # seconds until it had the parameters


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

    def warm(self, parameters: Sequence[Any]) -> Failed | None:
        """Make the actor and sample once for nothing: compiling would make a first batch stale."""
        import ray

        self._version = -1
        self._parameters: Arrays = {}
        try:
            self._actor = self._make()
            self._actor.sample(ray.get(parameters[0]), np.random.default_rng(0))
        except Exception as error:
            return _failed(error)
        return None

    def sample(
        self, numbers: Sequence[int], version: int, parameters: Sequence[Any]
    ) -> Sampled | Failed:
        """Sample one batch with the parameters of this version, and slow down if told so."""
        import ray

        start = time.perf_counter()
        if version != self._version:
            self._version, self._parameters = version, ray.get(parameters[0])
        fetched = time.perf_counter()
        try:
            arrays = self._actor.sample(self._parameters, np.random.default_rng(numbers))
        except Exception as error:
            return _failed(error)
        if isinstance(arrays, Mapping):  # else the learner's side says what is wrong
            arrays = {name: np.asarray(array) for name, array in arrays.items()}
        time.sleep((1 / self._speed - 1) * (time.perf_counter() - start))
        return Sampled(version, arrays, fetched - start)


def _failed(error: Exception) -> Failed:
    final = isinstance(error, LabError)
    return Failed(str(error) if final else repr(error), final)


class Actors(contextlib.AbstractContextManager["Actors"]):
    """All actors of a run. `publish` gives them parameters, and `queue` has what they sent."""

    def __init__(
        self,
        make: Callable[[], Actor],
        layout: Mapping[str, Spec],
        config: ActorLearnerConfig,
        seed: int,
        cores: int,
        say: Callable[[str], None],
    ) -> None:
        """Nothing runs before `start`; what does is stopped at the end of the block."""
        self.queue = BatchQueue(config.queue)
        self.calls = [0] * config.actors  # ever made: a batch's random numbers depend on its own
        self.restarts: Counter[int] = Counter()
        self.rejected: Counter[int] = Counter()
        self.publishing: deque[float] = deque(maxlen=1000)  # seconds, of the last versions
        self.fetching: deque[float] = deque(maxlen=1000)  # seconds, of the last batches
        self._make, self._config, self._seed, self._say = make, config, seed, say
        self._layout = layout
        self._share = min(1.0, int(1000 * cores / config.actors) / 1000)
        self._attempts: Counter[int] = Counter()  # since an actor's last batch
        self._named: set[tuple[int, str]] = set()  # what was wrong with an actor's batches
        self._in_a_row = 0  # unusable batches
        self._handles: dict[int, Any] = {}
        self._under_way: dict[Any, int] = {}
        self._newest: tuple[int, Arrays] | None = None
        self._put: tuple[int, list[Any]] = (-1, [])
        self._over = threading.Event()
        self._answered = time.monotonic()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def publish(self, version: int, parameters: Arrays) -> None:
        """Make these the newest parameters, which each actor gets with its next call."""
        self._newest = version, parameters

    def take(self, timeout: float) -> Batch | None:
        """The batch that arrived first, or None; raises what ended the actors."""
        if self._failure is not None:
            raise self._failure
        if time.monotonic() - self._answered > SILENCE:
            raise LabError(f"Ray has not answered for {SILENCE:.0f} s: start the run again.")
        return self.queue.take(timeout)

    def start(self) -> None:
        """Start all actors; the first parameters must have been published."""
        import ray

        self._made = [ray.put(self._make)]
        self._answered = time.monotonic()
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        import ray

        self._over.set()
        if self._thread.is_alive():
            self._thread.join(SILENCE / 10)
        for handle in () if self._thread.is_alive() else self._handles.values():
            ray.kill(handle)

    def _serve(self) -> None:
        import ray

        try:
            for actor in range(self._config.actors):
                self._start(actor)
            while not self._over.is_set():
                self._answered = time.monotonic()
                calls = list(self._under_way)
                ready, _ = ray.wait(calls, num_returns=1, timeout=0.2)
                if ready:
                    ready, _ = ray.wait(calls, num_returns=len(calls), timeout=0)
                for call in ready:
                    self._receive(call, self._under_way.pop(call))
        except LabError as error:
            self._failure = error
        except Exception as error:
            self._failure = LabError(f"the actors failed: {error!r}.")

    def _start(self, actor: int) -> None:
        import ray

        speed = dict(self._config.slow).get(actor, 1.0)
        worker = ray.remote(Worker).options(
            num_cpus=self._share,
            scheduling_strategy="SPREAD",
            runtime_env=ONE_THREAD,
        )
        self._handles[actor] = worker.remote(self._made, speed)
        self._warm(actor)

    def _warm(self, actor: int) -> None:
        self._under_way[self._handles[actor].warm.remote(self._parameters()[1])] = actor

    def _call(self, actor: int) -> None:
        numbers = (self._seed, actor, self.calls[actor])
        self.calls[actor] += 1
        call = self._handles[actor].sample.remote(numbers, *self._parameters())
        self._under_way[call] = actor

    def _parameters(self) -> tuple[int, list[Any]]:
        """The newest version and its reference; put once, and not in the learner's thread."""
        import ray

        assert self._newest is not None
        version, parameters = self._newest
        if version != self._put[0]:
            start = time.perf_counter()
            self._put = version, [ray.put(dict(parameters))]
            self.publishing.append(time.perf_counter() - start)
        return self._put

    def _receive(self, call: Any, actor: int) -> None:
        import ray

        try:
            sampled: Sampled | Failed | None = ray.get(call)
        except ray.exceptions.RayActorError as error:
            reason = str(error).strip().splitlines()[-1].strip().rstrip(".")
            self._count_attempt(actor, "died", reason)
            ray.kill(self._handles[actor])  # it may be cut off rather than dead
            self._start(actor)
            return
        except ray.exceptions.RayTaskError as error:  # what it returned cannot be sent
            sampled = Failed(repr(error.cause or error), final=False)
        if isinstance(sampled, Failed):
            if sampled.final:
                raise LabError(sampled.error)
            self._count_attempt(actor, "failed", sampled.error)
            self._warm(actor)
            return
        self._call(actor)  # first of all, so that the actor does not wait
        if sampled is None:  # it has warmed up
            return
        self._attempts[actor] = 0
        wrong = problem(self._layout, sampled.arrays)
        if wrong:
            self.rejected[actor] += 1
            if (actor, wrong) not in self._named:  # each is counted, the first of a kind is shown
                self._named.add((actor, wrong))
                self._say(f"a batch of actor {actor} was dropped: {wrong}")
            self._in_a_row += 1
            if self._in_a_row == REJECTED:
                raise LabError(f"{REJECTED} batches in a row were unusable; the last: {wrong}.")
            return
        self._in_a_row = 0
        self.fetching.append(sampled.fetching)
        self.queue.put(Batch(actor, sampled.version, sampled.arrays))

    def _count_attempt(self, actor: int, what: str, reason: str) -> None:
        self.restarts[actor] += 1
        self._attempts[actor] += 1
        if self._attempts[actor] == ATTEMPTS:
            often = f"{ATTEMPTS} times in a row without a batch"
            raise LabError(f"actor {actor} {what} {often}: {reason}.")
        self._say(f"actor {actor} {what} and was started again: {reason}")
