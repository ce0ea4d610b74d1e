"""A run: actors collect a chunk while the learner learns from those before it.

Acting is one chunk behind learning, always, so that neither waits for the other more than it must
and yet a run's numbers depend on nothing but its config, its seed and the number of threads.
"""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from delightful.agents.control import environments, learning, replay
from delightful.agents.control.actor_process import ActorProcess
from delightful.agents.control.checkpoints import Checkpoint
from delightful.agents.control.config import VERSION, ControlConfig
from delightful.agents.control.policy import Weights
from delightful.agents.control.rollout import Episodes
from delightful.agents.control.serialization import fill, flatten, nest
from delightful.agents.control.transitions import CHUNK, Rows
from delightful.lab.compiling import threads
from delightful.lab.errors import BrokenRunError

Record = dict[str, float]

BETWEEN_CHECKPOINTS = 60.0  # seconds; when they are written changes no number


class Progress(NamedTuple):
    """Where a run is, for those who watch it."""

    step: int
    training: float | None  # mean return of the training episodes since the last record
    records: list[Record]
    restarts: int  # of the actors' process, since this command was given


@dataclass
class Window:
    """What has been seen since the last record."""

    returns: list[float] = field(default_factory=list)
    dropped: int = 0
    updates: int = 0
    sums: dict[str, float] = field(default_factory=lambda: dict.fromkeys(learning.MEASURED, 0.0))

    def add(self, episodes: Episodes, updates: int, means: dict[str, Any]) -> None:
        self.returns += episodes.returns
        self.dropped += episodes.dropped
        self.updates += updates
        for name, mean in means.items():
            if not math.isfinite(float(mean)):
                raise BrokenRunError(
                    f"learning has broken down: {name} is {mean}; are rewards huge?"
                )
            self.sums[name] += updates * float(mean)

    def record(self) -> Record:
        """Means over the window's learner steps; `training` is that of the episodes that ended."""
        means = {name: total / max(self.updates, 1) for name, total in self.sums.items()}
        count = len(self.returns)
        training = sum(self.returns) / max(count, 1)
        counts = {"episodes": count, "dropped": self.dropped, "updates": self.updates}
        return {"training": training, **counts, **means}


@dataclass
class Run:
    """All that a run is after `chunk` chunks; a checkpoint holds this and the replayed rows."""

    learner: learning.Learner
    acting: Weights | None  # what the next chunk is collected with
    chunk: int = 0
    window: Window = field(default_factory=Window)
    records: list[Record] = field(default_factory=list)


@dataclass
class Session:
    """A run under way: its actors at work on the next chunk, and its memory of those before."""

    config: ControlConfig
    seed: int
    run: Run
    memory: replay.Replay
    actors: ActorProcess

    def advance(self, *, last: bool = False) -> Rows:
        """Learn from the chunk that the actors bring, while they collect another if any is left."""
        config, run = self.config, self.run
        rows, episodes = self.actors.collected()
        run.chunk += 1
        random = _step(config, run.chunk) <= config.random_steps
        run.acting = None if random else weights(run.learner)
        if not last:
            self.actors.collect(run.acting)
        self.memory = replay.add(self.memory, rows)
        updates = _updates(config, run.chunk) - _updates(config, run.chunk - 1)
        run.learner, means = learning.learn(config, run.learner, self.memory, self.seed, updates)
        run.window.add(episodes, updates, means)
        return rows

    def progress(self, awaited: bool) -> Progress:
        returns, records = self.run.window.returns, self.run.records
        training = sum(returns) / len(returns) if returns else None
        step = min(_step(self.config, self.run.chunk), self.config.steps)
        return Progress(step, training, records[:-1] if awaited else records, self.actors.restarts)


def begin(
    config: ControlConfig, seed: int, actors: ActorProcess, checkpoint: Checkpoint | None = None
) -> Session:
    """A new run, or the one that a checkpoint holds."""
    learner = learning.start(config, seed, actors.observed, actors.actions)
    memory = replay.empty(_slots(config), config.actors, actors.observed, actors.actions)
    if checkpoint is None or not checkpoint.exists:
        return Session(config, seed, Run(learner, None), memory, actors)
    facts, arrays = checkpoint.state()
    learner = jax.tree.map(jax.numpy.asarray, fill({"learner": learner}, arrays)["learner"])
    window, acting = Window(**facts["window"]), nest(arrays).get("acting")
    run = Run(learner, acting, facts["chunk"], window, facts["records"])
    for piece in checkpoint.replayed():
        rows = Rows(**piece)
        for i in range(0, len(rows.reward), CHUNK):
            memory = replay.add(memory, Rows(*(x[i : i + CHUNK] for x in rows)))
    return Session(config, seed, run, memory, actors)


def train(
    config: ControlConfig,
    seed: int,
    folder: Path | None = None,
    watch: Callable[[Progress], bool] = lambda _: False,
) -> tuple[list[Record], Weights]:
    """The run's records and the actor it ends with; fewer records if `watch` wants it to stop.

    folder: where checkpoints are kept, and gone on from.
    """
    run = {
        "config": asdict(config),
        "seed": seed,
        "engine": environments.default_engine(config.task),
        "program": VERSION,
        "threads": threads(),
    }
    checkpoint = Checkpoint(folder, run) if folder else None
    facts, arrays = checkpoint.state() if checkpoint and checkpoint.exists else ({}, {})
    with ActorProcess(config, seed, facts.get("chunk", 0), arrays.get("history")) as actors:
        session = begin(config, seed, actors, checkpoint)
        _to_the_end(session, checkpoint, watch)
    return session.run.records, weights(session.run.learner)


def _to_the_end(
    session: Session, checkpoint: Checkpoint | None, watch: Callable[[Progress], bool]
) -> None:
    config, run, actors = session.config, session.run, session.actors
    end = config.chunks
    unwritten: list[Rows] = []
    written = time.monotonic()
    awaited = False  # whether an evaluation is under way, behind the next chunk
    if run.chunk < end:
        actors.collect(run.acting)
    while run.chunk < end:
        rows = session.advance(last=run.chunk + 1 == end)
        unwritten += [rows] if checkpoint else []
        if awaited:
            _evaluated(session)
        awaited = _is_record(config, run.chunk)
        if awaited:
            _record(session)
            if run.chunk == end:
                _evaluated(session)
                awaited = False
        stop = watch(session.progress(awaited))
        due = stop or run.chunk == end or time.monotonic() - written > BETWEEN_CHECKPOINTS
        if checkpoint and due and not awaited:
            _write(session, checkpoint, unwritten)
            unwritten, written = [], time.monotonic()
        if stop and not awaited:
            return


def _record(session: Session) -> None:
    """A record of what has been seen, to which the evaluation that it asks for is added later."""
    config, run = session.config, session.run
    number = len(run.records) + 1
    run.records.append({"step": number * config.steps // config.records, **run.window.record()})
    run.window = Window()
    session.actors.evaluate(number, weights(run.learner))


def _evaluated(session: Session) -> None:
    """Add the evaluation to the record that asked for it."""
    found = session.actors.evaluated()
    found["dropped"] += session.run.records[-1]["dropped"]
    session.run.records[-1] |= found


def _slots(config: ControlConfig) -> int:
    """Rows per actor, in whole chunks: the ring's, or no more than the run can fill."""
    return CHUNK * max(1, min(config.chunks, config.replay // (CHUNK * config.actors)))


def _step(config: ControlConfig, chunk: int) -> int:
    """Environment steps after so many chunks; a reset counts as one."""
    return chunk * CHUNK * config.actors


def _updates(config: ControlConfig, chunk: int) -> int:
    """Learner steps that are due after so many chunks."""
    return max(0, _step(config, chunk) - config.random_steps) // config.every


def _is_record(config: ControlConfig, chunk: int) -> bool:
    """Whether a chunk is the first to end at or after one of the steps at which is evaluated."""
    passed = [_step(config, c) * config.records // config.steps for c in (chunk - 1, chunk)]
    return min(passed[0], config.records) < min(passed[1], config.records)


def weights(learner: learning.Learner) -> Weights:
    """The actor's, as its process takes them."""
    found: Weights = jax.tree.map(np.asarray, learner.actor)
    return found


def _write(session: Session, checkpoint: Checkpoint, unwritten: list[Rows]) -> None:
    config, run = session.config, session.run
    facts = {"chunk": run.chunk, "window": asdict(run.window), "records": run.records}
    arrays = flatten({"learner": run.learner, "history": session.actors.history})
    if run.acting is not None:
        arrays |= flatten({"acting": run.acting})
    over = run.chunk == config.chunks  # then nothing is replayed any more
    oldest = run.chunk if over else run.chunk - _slots(config) // CHUNK
    checkpoint.write(run.chunk, facts, arrays, [] if over else unwritten, oldest)
