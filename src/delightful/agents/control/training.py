"""A run: actors collect a chunk while the learner learns from those before it.

Acting is always one chunk behind learning. So the two overlap, and yet a run's numbers depend on
nothing but its config, its seed and the number of threads. Its length does not enter them: the
first half of a long run is the short run.
"""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from delightful.agents.control import environments, replay
from delightful.agents.control import learner as learning
from delightful.agents.control.actor_process import ActorProcess
from delightful.agents.control.checkpoints import Checkpoint
from delightful.agents.control.config import VERSION, ControlConfig
from delightful.agents.control.gaussian import Weights
from delightful.agents.control.rollout import Episodes
from delightful.agents.control.serialization import flatten, unflatten, unflatten_like
from delightful.agents.control.transitions import CHUNK, Transitions
from delightful.lab.compiling import threads
from delightful.lab.errors import BrokenRunError

Record = dict[str, float]

BETWEEN_CHECKPOINTS = 60.0  # seconds; a run's numbers do not depend on it


class Progress(NamedTuple):
    """How far a run is, reported to `watch` after every chunk."""

    step: int
    training: float | None  # mean return of the training episodes since the last record
    records: list[Record]
    restarts: int  # of the actors' process, since this command was given


@dataclass
class Window:
    """Statistics since the last record."""

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
                raise BrokenRunError(f"learning diverged: {name} is {mean}; are the rewards huge?")
            self.sums[name] += updates * float(mean)

    def record(self) -> Record:
        """Means over the learner steps; `training` is that of the ended episodes' returns."""
        means = {name: total / max(self.updates, 1) for name, total in self.sums.items()}
        count = len(self.returns)
        training = sum(self.returns) / max(count, 1)
        counts = {"episodes": count, "dropped": self.dropped, "updates": self.updates}
        return {"training": training, **counts, **means}


@dataclass
class Run:
    """A run's state after `chunk` chunks; a checkpoint holds this and the replay buffer."""

    learner: learning.Learner
    acting: Weights | None  # of the policy that collects the next chunk; None is uniform
    chunk: int = 0
    window: Window = field(default_factory=Window)
    records: list[Record] = field(default_factory=list)


@dataclass
class Session:
    """A run in progress: its state, its replay buffer, and actors collecting the next chunk."""

    config: ControlConfig
    seed: int
    run: Run
    memory: replay.Replay
    actors: ActorProcess

    def advance(self, *, last: bool = False) -> Transitions:
        """Learn from the collected chunk and return it; the next is collected meanwhile."""
        config, run = self.config, self.run
        transitions, episodes = self.actors.collected()
        run.chunk += 1
        random = _step(config, run.chunk) <= config.random_steps
        run.acting = None if random else weights(run.learner)
        if not last:
            self.actors.collect(run.acting)
        self.memory = replay.add(self.memory, transitions)
        updates = _updates(config, run.chunk) - _updates(config, run.chunk - 1)
        run.learner, means = learning.learn(config, run.learner, self.memory, self.seed, updates)
        run.window.add(episodes, updates, means)
        return transitions

    def progress(self, awaited: bool) -> Progress:
        """How far it is; `awaited` if the last record's evaluation is still to come."""
        returns, records = self.run.window.returns, self.run.records
        training = sum(returns) / len(returns) if returns else None
        step = min(_step(self.config, self.run.chunk), self.config.steps)
        return Progress(step, training, records[:-1] if awaited else records, self.actors.restarts)


def begin(
    config: ControlConfig, seed: int, actors: ActorProcess, checkpoint: Checkpoint | None = None
) -> Session:
    """A new run, or the one that a checkpoint holds; its first chunk is still to be requested."""
    learner = learning.initial(config, seed, actors.observed, actors.actions)
    memory = replay.empty(_slots(config), config.actors, actors.observed, actors.actions)
    if checkpoint is None or not checkpoint.exists:
        return Session(config, seed, Run(learner, None), memory, actors)
    arrays, facts = checkpoint.state()
    learner = jax.tree.map(jax.numpy.asarray, unflatten_like(learner, arrays, "learner"))
    window, acting = Window(**facts["window"]), unflatten(arrays).get("acting")
    run = Run(learner, acting, facts["chunk"], window, facts["records"])
    if run.chunk < config.chunks:  # a finished run replays nothing
        for piece in checkpoint.replayed():
            for i in range(0, len(piece.reward), CHUNK):
                memory = replay.add(memory, Transitions(*(x[i : i + CHUNK] for x in piece)))
    return Session(config, seed, run, memory, actors)


def train(
    config: ControlConfig,
    seed: int,
    folder: Path | None = None,
    watch: Callable[[Progress], bool] = lambda _: False,
    *,
    extend: bool = False,
) -> tuple[list[Record], Weights]:
    """Train an agent.

    Args:
        config: the run's; `config.steps` environment steps.
        seed: determines all random numbers.
        folder: where checkpoints are kept, and resumed from.
        watch: called after every chunk; if it returns True, the run stops at a checkpoint.
        extend: resume a run in `folder` that has fewer steps. Its numbers are those of one run of
            the new length, if both are evaluated at the same spacing.

    Returns:
        A record per evaluation, and the weights of the actor at the end.
    """
    run = {
        "config": asdict(config),
        "seed": seed,
        "engine": environments.default_engine(config.task),
        "program": VERSION,
        "threads": threads(),
    }
    checkpoint = Checkpoint(folder, run, extend=extend) if folder else None
    arrays, facts = checkpoint.state() if checkpoint and checkpoint.exists else ({}, {})
    with ActorProcess(config, seed, facts.get("chunk", 0), arrays.get("history")) as actors:
        session = begin(config, seed, actors, checkpoint)
        _run_to_end(session, checkpoint, watch)
    return session.run.records, weights(session.run.learner)


def _run_to_end(
    session: Session, checkpoint: Checkpoint | None, watch: Callable[[Progress], bool]
) -> None:
    config, run, actors = session.config, session.run, session.actors
    end = config.chunks
    unwritten: list[Transitions] = []
    written = time.monotonic()
    awaited = False  # whether the last record's evaluation was requested, behind the next chunk
    if run.chunk < end:
        actors.collect(run.acting)
    while run.chunk < end:
        transitions = session.advance(last=run.chunk + 1 == end)
        unwritten += [transitions] if checkpoint else []
        if awaited:
            _evaluated(session)
        awaited = _is_record(config, run.chunk)
        if awaited:
            _record(session)
        if awaited and run.chunk == end:
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
    """Add a record of the statistics so far, and request its evaluation."""
    config, run = session.config, session.run
    number = len(run.records) + 1
    run.records.append({"step": number * config.interval, **run.window.record()})
    run.window = Window()
    session.actors.evaluate(number, weights(run.learner))


def _evaluated(session: Session) -> None:
    """Add the requested evaluation to its record."""
    found = session.actors.evaluated()
    found["dropped"] += session.run.records[-1]["dropped"]
    session.run.records[-1] |= found


def _slots(config: ControlConfig) -> int:
    """Replay slots per actor, in whole chunks; no more than the run can fill."""
    return CHUNK * max(1, min(config.chunks, config.replay // (CHUNK * config.actors)))


def _step(config: ControlConfig, chunk: int) -> int:
    """Environment steps after `chunk` chunks; a reset counts as one."""
    return chunk * CHUNK * config.actors


def _updates(config: ControlConfig, chunk: int) -> int:
    """Learner steps after `chunk` chunks."""
    return max(0, _step(config, chunk) - config.random_steps) // config.every


def _is_record(config: ControlConfig, chunk: int) -> bool:
    """Whether a chunk is the first to end at or after an evaluation step."""
    passed = [_step(config, c) // config.interval for c in (chunk - 1, chunk)]
    return min(passed[0], config.records) < min(passed[1], config.records)


def weights(learner: learning.Learner) -> Weights:
    """The actor's weights as NumPy arrays."""
    found: Weights = jax.tree.map(np.asarray, learner.actor)
    return found


def _write(session: Session, checkpoint: Checkpoint, unwritten: list[Transitions]) -> None:
    config, run = session.config, session.run
    metadata = {"chunk": run.chunk, "window": asdict(run.window), "records": run.records}
    arrays = flatten({"learner": run.learner, "history": session.actors.history})
    if run.acting is not None:
        arrays |= flatten({"acting": run.acting})
    oldest = run.chunk - _slots(config) // CHUNK
    checkpoint.write(run.chunk, arrays, metadata, unwritten, oldest)
