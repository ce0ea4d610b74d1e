"""Ray actors, and the thread that keeps all of them sampling.

Every actor has a call under way, or several. When a batch arrives, a thread of its own in the
learner's process answers at once with the next call, which carries a reference to the newest
parameters. Only if the queue is full does the actor wait, until the learner takes a batch: what it
would sample meanwhile would be older, or be dropped, and would take a core from the learner.

An actor whose process has died is started again, on whichever node has a place for it; if none has,
the run goes on without it and says so.
"""

import contextlib
import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from delightful.agents.actor_learner.config import ActorLearnerConfig
from delightful.agents.actor_learner.placement import Waiting, share
from delightful.agents.actor_learner.protocols import Actor, Arrays, Spec
from delightful.agents.actor_learner.queue import Batch, BatchQueue, counter, problem
from delightful.agents.actor_learner.worker import Failed, Here, Sampled, Warm, checked
from delightful.lab.cluster import ONE_THREAD, Cluster
from delightful.lab.errors import LabError
from delightful.lab.nodes import Versions, difference, inspector

ATTEMPTS = 3  # at starting an actor
SILENCE = 120.0  # seconds without a sign of life from the thread: then Ray blocks it
POLL = 0.2  # seconds, after which the thread looks whether it should stop
REJECTED = 100  # unusable batches in a row, of all actors: then nothing will come

Answer = Here | Warm | Sampled | Failed | dict[str, Any]
"""What an actor returns; a dict is of a node with other versions, which has no type of ours."""


class Actors(contextlib.AbstractContextManager["Actors"]):
    """All actors of a run. `publish` gives them parameters, and `queue` has what they sent."""

    def __init__(
        self,
        make: Callable[[], Actor],
        layout: Mapping[str, Spec],
        config: ActorLearnerConfig,
        seed: int,
        cluster: Cluster,
        versions: Versions,
        say: Callable[[str], None],
    ) -> None:
        """Nothing runs before `start`; what does is stopped at the end of the block."""
        self.queue = BatchQueue(config.queue, config.actors)
        self.calls = [0] * config.actors  # ever made: a batch's random numbers depend on its own
        self.restarts = counter(config.actors)
        self.rejected = counter(config.actors)
        self.publishing: deque[float] = deque(maxlen=1000)  # seconds, of the last versions
        self.fetching: deque[float] = deque(maxlen=1000)  # seconds, of the last new parameters
        self._make, self._config, self._seed, self._say = make, config, seed, say
        self._layout, self._cluster, self._versions = layout, cluster, versions
        self._share = 1.0  # of a core: what an actor asks for
        self._asked: dict[int, float] = {}  # what each did ask for
        self._nodes: dict[int, set[str]] = {}  # that there were when it was started
        self._waiting = Waiting()
        self._warm: set[int] = set()  # actors that sample
        self._attempts: Counter[int] = Counter()  # since an actor's last batch
        self._named: set[tuple[int, str]] = set()  # what was wrong with an actor's batches
        self._in_a_row = 0  # unusable batches
        self._handles: dict[int, Any] = {}
        self._under_way: dict[Future[Answer], int] = {}
        self._ended: queue.SimpleQueue[Future[Answer] | None] = queue.SimpleQueue()  # None: room
        self._held: list[int] = []  # actors that wait for room in the queue, once for each call
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
        batch = self.queue.take(timeout)
        if batch is not None:
            self._ended.put(None)
        return batch

    def start(self) -> None:
        """Start all actors; the first parameters must have been published."""
        import ray

        self._made = [ray.put(self._make)]
        self._class = ray.remote(checked(inspector(), self._versions))
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
        try:
            for actor in range(self._config.actors):
                self._start(actor)
            while not self._over.is_set():
                self._answered = time.monotonic()
                self._look_for_waiting(self._answered)
                with contextlib.suppress(queue.Empty):
                    ended = self._ended.get(timeout=POLL)
                    if ended is None:
                        self._release()
                    elif ended in self._under_way:  # not if its actor failed in another call
                        self._receive(ended, self._under_way.pop(ended))
        except LabError as error:
            self._failure = error
        except Exception as error:
            self._failure = LabError(f"the actors failed: {error!r}.")

    def _look_for_waiting(self, now: float) -> None:
        """Say which actors wait for a core, and let them ask for less if a node was lost since."""
        overdue = self._waiting.overdue(now)
        if not overdue:
            return
        least = self._share_now()
        for actor in overdue:
            if self._asked[actor] > least:
                self._forget(actor)
                self._kill(actor)
                self._place(actor)
        said = self._waiting.sentence(overdue, least)
        if said:
            self._say(said)

    def _share_now(self) -> float:
        """What an actor asks for, of the nodes that there are now.

        It never grows, so that an actor that died always fits in its own place.
        """
        nodes = self._cluster.nodes()
        if nodes:
            self._share = min(self._share, share([n.cores for n in nodes], self._config.actors))
        return self._share

    def _start(self, actor: int) -> None:
        self._waiting.start(actor, time.monotonic())
        self._place(actor)

    def _place(self, actor: int) -> None:
        self._warm.discard(actor)
        self._nodes[actor] = {node.id for node in self._cluster.nodes()}
        self._asked[actor] = self._share_now()
        worker = self._class.options(
            num_cpus=self._asked[actor],
            scheduling_strategy="SPREAD",
            runtime_env=ONE_THREAD,
        )
        speed = dict(self._config.slow).get(actor, 1.0)
        self._handles[actor] = worker.remote(self._made, speed)
        self._await(actor, self._handles[actor].here.remote())

    def _kill(self, actor: int) -> None:
        import ray

        ray.kill(self._handles[actor])

    def _call_warm(self, actor: int) -> None:
        self._await(actor, self._handles[actor].warm.remote(self._parameters()[1]))

    def _call(self, actor: int) -> None:
        numbers = (self._seed, actor, self.calls[actor])
        self.calls[actor] += 1
        self._await(actor, self._handles[actor].sample.remote(numbers, *self._parameters()))

    def _await(self, actor: int, answer: Any) -> None:
        call: Future[Answer] = answer.future()
        self._under_way[call] = actor
        call.add_done_callback(self._ended.put)

    def _release(self) -> None:
        """Let the actors go on that waited for room in the queue."""
        if not self.queue.full:
            held, self._held = self._held, []
            for actor in held:
                self._call(actor)

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

    def _receive(self, call: Future[Answer], actor: int) -> None:
        import ray

        try:
            answer = call.result()
        except ray.exceptions.RayTaskError as error:  # what it returned cannot be sent
            answer = Failed(repr(error.cause or error), final=False)
        except ray.exceptions.RayActorError as error:
            self._start_again(actor, str(error).strip().splitlines()[-1].strip().rstrip("."))
            return
        except ray.exceptions.OutOfMemoryError:  # Ray kills it before the system would
            self._start_again(actor, "its node ran out of memory")
            return
        except ray.exceptions.ObjectLostError as error:  # a node took a large batch with it
            lost = f"it was lost on the way ({type(error).__name__})"
            if actor in self._warm:
                self._call(actor)
                self._reject(actor, lost)
                return
            answer = Failed(lost, final=False)
        self._handle(actor, answer)

    def _handle(self, actor: int, answer: Answer) -> None:
        if isinstance(answer, Sampled):
            self._keep(actor, answer)
            if self.queue.full:
                self._held.append(actor)
            else:
                self._call(actor)
        elif isinstance(answer, dict):
            raise LabError(difference(answer["node"], answer["found"], self._versions))
        elif isinstance(answer, Here):
            self._waiting.came(actor, time.monotonic())
            self._call_warm(actor)
        elif isinstance(answer, Warm):
            self._warm.add(actor)
            for _ in range(self._config.in_flight):
                self._call(actor)
        elif answer.final:
            raise LabError(answer.error)
        else:
            self._forget(actor)
            self._warm.discard(actor)
            self._count_restart(actor, "failed", answer.error)
            self._call_warm(actor)

    def _keep(self, actor: int, sampled: Sampled) -> None:
        """Give the learner a batch, if it is usable."""
        self._attempts[actor] = 0
        wrong = problem(self._layout, sampled.arrays)
        if wrong:
            self._reject(actor, wrong)
            return
        self._in_a_row = 0
        if sampled.fetching is not None:
            self.fetching.append(sampled.fetching)
        self.queue.put(Batch(actor, sampled.version, sampled.arrays))

    def _reject(self, actor: int, wrong: str) -> None:
        self.rejected[actor] += 1
        if (actor, wrong) not in self._named:  # each is counted, the first of a kind is shown
            self._named.add((actor, wrong))
            self._say(f"a batch of actor {actor} was dropped: {wrong}")
        self._in_a_row += 1
        if self._in_a_row == REJECTED:
            raise LabError(f"{REJECTED} batches in a row were unusable; the last: {wrong}.")

    def _start_again(self, actor: int, reason: str) -> None:
        """Start an actor that died in a new process."""
        self._forget(actor)
        there = {node.id for node in self._cluster.nodes(afresh=True)}
        # Ray may start an actor on a node that it does not know to be lost, where it never runs.
        # Were that an attempt, the loss of one node would use up two of them or all.
        if actor not in self._warm and self._nodes[actor] - there:
            self._count_restart(actor, "died", "a node was lost while it started", attempts=0)
        else:
            self._count_restart(actor, "died", reason)
        self._kill(actor)  # it may be cut off rather than dead
        self._start(actor)

    def _forget(self, actor: int) -> None:
        """Its other calls, which fail with it, and those that it was to get."""
        calls = [call for call, whose in self._under_way.items() if whose == actor]
        for call in calls:
            del self._under_way[call]
        self._held = [other for other in self._held if other != actor]

    def _count_restart(self, actor: int, what: str, reason: str, attempts: int = 1) -> None:
        self.restarts[actor] += 1
        self._attempts[actor] += attempts
        if attempts and self._attempts[actor] == ATTEMPTS:
            often = f"{ATTEMPTS} times in a row without a batch"
            raise LabError(f"actor {actor} {what} {often}: {reason}.")
        self._say(f"actor {actor} {what} and was started again: {reason}")
