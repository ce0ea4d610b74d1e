"""The learner's loop: take batches in the order of arrival, update, publish the parameters."""

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from delightful.agents.actor_learner.actors import Actors
from delightful.agents.actor_learner.checkpoints import Checkpoint
from delightful.agents.actor_learner.config import ActorLearnerConfig
from delightful.agents.actor_learner.protocols import Actor, Arrays, Learner
from delightful.agents.actor_learner.queue import Batch
from delightful.agents.actor_learner.staleness import Staleness
from delightful.lab.cluster import Cluster, connected
from delightful.lab.errors import BrokenRunError, LabError
from delightful.lab.nodes import ALWAYS, Versions, check, expected
from delightful.lab.runners import cores

Record = dict[str, float]
BETWEEN_CHECKPOINTS = 30.0  # seconds
PATIENCE = 0.2  # seconds, after which a wait looks whether it should stop


class Progress(NamedTuple):
    """How far a run is, reported to `watch` after every step and while the learner waits."""

    step: int
    record: Record | None  # of the step that was just made; None while the learner waits
    dropped: int  # batches, since the run began, as are all of these
    rejected: int
    restarts: int


@dataclass
class Result:
    """What a run leaves besides the learner itself."""

    step: int
    staleness: Staleness
    dropped: Counter[int] = field(default_factory=Counter)  # after the first step, by actor
    rejected: Counter[int] = field(default_factory=Counter)  # unusable, by actor
    restarts: Counter[int] = field(default_factory=Counter)  # by actor
    seconds: float = 0.0  # after the first step, which compiles, in this process
    idle: float = 0.0  # of these, how long the learner waited for batches
    publishing: float = 0.0  # median seconds in which a version was put into the object store
    fetching: float = 0.0  # median seconds in which an actor got them
    steps: int = 0  # made in `seconds`

    def summary(self) -> dict[str, Any]:
        """The numbers as JSON."""
        seconds = max(self.seconds, 1e-9)
        return {
            "steps": self.step,
            "staleness": self.staleness.summary(),
            **{name: _by_actor(getattr(self, name)) for name in ("dropped", "rejected")},
            "restarts": _by_actor(self.restarts),
            "steps_per_second": self.steps / seconds,
            "idle_fraction": self.idle / seconds,
            "publish_milliseconds": 1000 * self.publishing,
            "fetch_milliseconds": 1000 * self.fetching,
        }


def train(
    make_actor: Callable[[], Actor],
    learner: Learner,
    config: ActorLearnerConfig,
    seed: int = 0,
    *,
    folder: Path | None = None,
    about: Mapping[str, Any] | None = None,
    address: str | None = None,
    watch: Callable[[Progress], bool] = lambda _: False,
    say: Callable[[str], None] = lambda _: None,
) -> Result:
    """Train a learner on what actors sample.

    Args:
        make_actor: makes an actor; it is called in the process of each.
        learner: the learner, which is updated in place.
        config: how many actors and steps, and how.
        seed: determines the random numbers of every batch. Which batches arrive when is decided by
            the machines: two runs with the same seed differ.
        folder: where checkpoints are kept, and resumed from.
        about: what else makes it this run, as JSON; a checkpoint of another run is refused.
        address: HOST:PORT of a Ray cluster; None is $RAY_ADDRESS, or a local Ray for this run. A
            Ray that you have initialised is used, and left running.
        watch: called after every step and while waiting; the run stops at a checkpoint if it
            returns True.
        say: called with a sentence about what happens: a run that is resumed, more actors than
            cores, an actor that died or sent an unusable batch.

    Returns:
        Staleness and counts, of the whole run where it was resumed.
    """
    try:
        config.check()
    except ValueError as error:
        raise LabError(f"{error}.") from None
    run = {**asdict(config), "slow": [list(pair) for pair in config.slow], "seed": seed}
    checkpoint = Checkpoint(folder, {**run, **(about or {})}) if folder else None
    loop = _Loop(learner, config, checkpoint, watch)
    calls = loop.restore()
    if loop.result.step == config.steps:
        return loop.result
    if calls:
        say(f"going on after step {loop.result.step:,}")
    with connected(address, cores()) as cluster:
        ours = _check(cluster, config, say)
        with Actors(make_actor, learner.layout, config, seed, cluster, ours, say) as actors:
            actors.calls = calls or actors.calls
            loop.run(actors)
    return loop.result


def _check(cluster: Cluster, config: ActorLearnerConfig, say: Callable[[str], None]) -> Versions:
    """Check every node, and that there are cores for actors to share; the versions to be found."""
    ours = expected(ALWAYS)
    check(cluster, ours)
    found = cluster.cores()
    if not found:  # they ask for a share of what there is, which adds no node
        raise LabError("the Ray cluster has no cores yet: add a node, since actors start at once.")
    if config.actors > found:
        say(f"{config.actors} actors on {found} cores: they take turns")
    return ours


class _Loop:
    """The learner's side of a run."""

    def __init__(
        self,
        learner: Learner,
        config: ActorLearnerConfig,
        checkpoint: Checkpoint | None,
        watch: Callable[[Progress], bool],
    ) -> None:
        self.result = Result(0, Staleness(config.actors))
        self._learner, self._config = learner, config
        self._checkpoint, self._watch = checkpoint, watch
        self._before = Result(0, Staleness(0))  # the counts that a checkpoint held
        # Dropped during the first step, which compiles: they do not say that the learner is slow.
        self._early: Counter[int] = Counter()
        # The versions that actors may not have yet, because of the lag, and the one they have.
        self._held: deque[tuple[int, Arrays]] = deque(maxlen=config.lag + 1)

    def restore(self) -> list[int] | None:
        """Go on from the checkpoint, if there is one; the number of calls to each actor so far."""
        stored = self._checkpoint.read() if self._checkpoint else None
        if stored is None:
            self._held.append((0, self._parameters()))
            return None
        arrays, facts = stored
        self._learner.restore(_inside(arrays, "learner"))
        for version in facts["held"]:
            self._held.append((version, _inside(arrays, f"held/{version}")))
        self.result = Result(facts["step"], Staleness.from_json(facts["staleness"]))
        for name in ("dropped", "rejected", "restarts"):
            counts = Counter({int(actor): n for actor, n in facts[name].items()})
            setattr(self._before, name, counts)
        self._count(None)
        return list(facts["calls"])

    def run(self, actors: Actors) -> None:
        """Take steps until the end, or until `watch` says to stop."""
        actors.publish(*self._held[0])
        actors.start()
        written = time.monotonic()
        started: float | None = None
        stop = False
        while self.result.step < self._config.steps and not stop:
            batches = self._batches(actors)
            if batches is None:
                break
            record = self._update(actors, batches)
            if started is None:  # processes have been started and programs compiled
                started = time.monotonic()
                self.result.idle = 0.0
                self._early = Counter(actors.queue.dropped)
            else:
                self.result.steps += 1
                self.result.seconds = time.monotonic() - started
            stop = self._report(actors, record)
            if time.monotonic() - written > BETWEEN_CHECKPOINTS:
                self._write(actors)
                written = time.monotonic()
        self._count(actors)
        if actors.fetching:
            self.result.publishing = float(np.median(list(actors.publishing)))
            self.result.fetching = float(np.median(list(actors.fetching)))
        self._write(actors)

    def _batches(self, actors: Actors) -> list[Batch] | None:
        """The batches of the next step, as they arrive; None if the run is to stop."""
        start = time.monotonic()
        batches: list[Batch] = []
        while len(batches) < self._config.batches:
            try:
                batch = actors.take(PATIENCE)
            except LabError:  # the actors have failed: what was learned is kept
                self._count(actors)
                self._write(actors)
                raise
            if batch is not None:
                batches.append(batch)
            elif self._report(actors, None):
                return None
        self.result.idle += time.monotonic() - start
        return batches

    def _update(self, actors: Actors, batches: list[Batch]) -> Record:
        ages = [self.result.step - batch.version for batch in batches]
        measured = self._learner.update([batch.arrays for batch in batches])
        for name, value in measured.items():
            if not math.isfinite(value):
                raise BrokenRunError(f"learning diverged: {name} is {value}.")
        parameters = self._parameters()
        for name, array in parameters.items():
            # Not published, and not in a checkpoint: the run goes on from the last one.
            if not np.isfinite(array).all():
                raise BrokenRunError(f"learning diverged: {name} has NaN or infinite values.")
        for batch, age in zip(batches, ages, strict=True):
            self.result.staleness.add(batch.actor, age)
        self.result.step += 1
        self._held.append((self.result.step, parameters))
        actors.publish(*self._held[0])
        by_actor: dict[str, list[int]] = {}
        for batch, age in zip(batches, ages, strict=True):
            by_actor.setdefault(f"staleness/actor{batch.actor}", []).append(age)
        return {
            "step": self.result.step,
            **measured,
            "staleness_mean": float(np.mean(ages)),
            "staleness_max": max(ages),
            **{name: float(np.mean(by_actor[name])) for name in sorted(by_actor)},
        }

    def _parameters(self) -> Arrays:
        """A copy of the learner's parameters, of which this version consists for good.

        They are sent later, and with a lag by versions: a learner may update its arrays in place.
        """
        return {name: np.array(array) for name, array in self._learner.parameters().items()}

    def _report(self, actors: Actors, record: Record | None) -> bool:
        self._count(actors)
        counts = self.result.dropped, self.result.rejected, self.result.restarts
        return self._watch(Progress(self.result.step, record, *(c.total() for c in counts)))

    def _count(self, actors: Actors | None) -> None:
        """Bring the result's counts up to date: those of the checkpoint, and those since."""
        before, result = self._before, self.result
        nothing: Counter[int] = Counter()
        dropped = actors.queue.dropped - self._early if actors else nothing
        result.dropped = before.dropped + dropped
        result.rejected = before.rejected + (actors.rejected if actors else nothing)
        result.restarts = before.restarts + (actors.restarts if actors else nothing)

    def _write(self, actors: Actors) -> None:
        if self._checkpoint is None:
            return
        arrays = {f"learner/{name}": a for name, a in self._learner.state().items()}
        for version, parameters in self._held:
            arrays |= {f"held/{version}/{name}": a for name, a in parameters.items()}
        result = self.result
        facts = {
            "step": result.step,
            "held": [version for version, _ in self._held],
            "calls": actors.calls,
            "staleness": result.staleness.to_json(),
            **{name: _by_actor(getattr(result, name)) for name in ("dropped", "rejected")},
            "restarts": _by_actor(result.restarts),
        }
        self._checkpoint.write(result.step, arrays, facts)


def _by_actor(counts: Counter[int]) -> dict[str, int]:
    return {str(actor): counts[actor] for actor in sorted(counts)}


def _inside(arrays: Mapping[str, np.ndarray], folder: str) -> dict[str, np.ndarray]:
    """The arrays whose path begins with this folder, by the rest of their path."""
    start = f"{folder}/"
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}
