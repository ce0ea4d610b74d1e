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
from delightful.agents.control.config import CHUNK, VERSION, ControlConfig
from delightful.agents.control.gaussian import Weights
from delightful.agents.control.rollout import Episodes, Transitions
from delightful.agents.serialization import flatten, unflatten, unflatten_like
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
class Session:
    """A run in progress, and actors collecting its next chunk; a checkpoint holds all the rest."""

    config: ControlConfig
    seed: int
    actors: ActorProcess
    learner: learning.Learner
    memory: replay.Replay
    acting: Weights | None = None  # of the policy that collects the next chunk; None is uniform
    chunk: int = 0  # how many were learned from
    window: Window = field(default_factory=Window)
    records: list[Record] = field(default_factory=list)

    def advance(self, *, last: bool = False) -> Transitions:
        """Learn from the collected chunk and return it; the next is collected meanwhile."""
        config = self.config
        transitions, episodes = self.actors.collected()
        self.chunk += 1
        random = _step(config, self.chunk) <= config.random_steps
        self.acting = None if random else weights(self.learner)
        if not last:
            self.actors.collect(self.acting)
        self.memory = replay.add(self.memory, transitions)
        updates = _updates(config, self.chunk) - _updates(config, self.chunk - 1)
        self.learner, means = learning.learn(config, self.learner, self.memory, self.seed, updates)
        self.window.add(episodes, updates, means)
        return transitions


def begin(
    config: ControlConfig, seed: int, actors: ActorProcess, checkpoint: Checkpoint | None = None
) -> Session:
    """A new run, or the one that a checkpoint holds; its first chunk is still to be requested."""
    sizes = (actors.observed, actors.actions)
    learner = learning.initial(config, seed, *sizes)
    memory = replay.empty(_slots(config), config.actors, *sizes)
    arrays, facts = checkpoint.state() if checkpoint else ({}, {})
    if checkpoint is None or not facts:
        return Session(config, seed, actors, learner, memory)
    learner = unflatten_like({"learner": learner}, arrays)["learner"]
    learner = jax.tree.map(jax.numpy.asarray, learner)
    window, acting = Window(**facts["window"]), unflatten(arrays).get("acting")
    if facts["chunk"] < config.chunks:  # a finished run replays nothing
        for piece in checkpoint.replayed():
            for i in range(0, len(piece.reward), CHUNK):
                memory = replay.add(memory, Transitions(*(x[i : i + CHUNK] for x in piece)))
    state = (learner, memory, acting, facts["chunk"], window, facts["records"])
    return Session(config, seed, actors, *state)


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
    arrays, facts = checkpoint.state() if checkpoint else ({}, {})
    with ActorProcess(config, seed, facts.get("chunk", 0), arrays.get("history")) as actors:
        session = begin(config, seed, actors, checkpoint)
        _run_to_end(session, checkpoint, watch)
    return session.records, weights(session.learner)


def _run_to_end(
    session: Session, checkpoint: Checkpoint | None, watch: Callable[[Progress], bool]
) -> None:
    config, actors = session.config, session.actors
    end = config.chunks
    unwritten: list[Transitions] = []
    written = time.monotonic()
    awaited = False  # whether the last record's evaluation was requested, behind the next chunk
    if session.chunk < end:
        actors.collect(session.acting)
    while session.chunk < end:
        transitions = session.advance(last=session.chunk + 1 == end)
        unwritten += [transitions] if checkpoint else []
        if awaited:
            _evaluated(session)
        awaited = _is_record(config, session.chunk)
        if awaited:
            number = len(session.records) + 1
            at = number * (config.steps // config.records)
            session.records.append({"step": at, **session.window.record()})
            session.window = Window()
            actors.evaluate(number, weights(session.learner))
        if awaited and session.chunk == end:
            _evaluated(session)
            awaited = False
        returns = session.window.returns
        training = sum(returns) / len(returns) if returns else None
        step = min(_step(config, session.chunk), config.steps)
        records = session.records[:-1] if awaited else session.records
        stop = watch(Progress(step, training, records, actors.restarts))
        due = stop or session.chunk == end or time.monotonic() - written > BETWEEN_CHECKPOINTS
        if checkpoint and due and not awaited:
            _write(session, checkpoint, unwritten)
            unwritten, written = [], time.monotonic()
        if stop and not awaited:
            return


def _evaluated(session: Session) -> None:
    """Add the requested evaluation to its record."""
    found = session.actors.evaluated()
    found["dropped"] += session.records[-1]["dropped"]
    session.records[-1] |= found


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
    interval = config.steps // config.records
    before, now = (min(_step(config, c) // interval, config.records) for c in (chunk - 1, chunk))
    return before < now


def weights(learner: learning.Learner) -> Weights:
    """The actor's weights as NumPy arrays."""
    return dict(jax.tree.map(np.asarray, learner.actor))


def _write(session: Session, checkpoint: Checkpoint, unwritten: list[Transitions]) -> None:
    facts = {"chunk": session.chunk, "window": asdict(session.window), "records": session.records}
    arrays = flatten({"learner": session.learner, "history": session.actors.history})
    if session.acting is not None:
        arrays |= flatten({"acting": session.acting})
    oldest = session.chunk - _slots(session.config) // CHUNK
    checkpoint.write(session.chunk, arrays, facts, unwritten, oldest)
