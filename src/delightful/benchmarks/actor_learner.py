"""The actor–learner on Token Reversal: trajectories per second, beside the in-process trainer.

Both train DG with the paper's network, 100 trajectories a step, on the same cores. The in-process
trainer is one process, which samples and learns in turn: with one XLA thread or with one for each
core, whichever is faster. Of the actor–learner every process has one thread. Its batches are whole
steps, as whoever wants speed would choose; and for comparison an actor's share of a step. Its
trajectories are those that the learner used; starting and compiling are not counted.
"""

import contextlib
import functools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from delightful.agents.tokens.config import TokensConfig
from delightful.benchmarks.timing import median, reached, shown
from delightful.benchmarks.workers import Workers, workers
from delightful.lab.cluster import connected
from delightful.lab.runners import cores

ACTORS = (1, 2, 4)
GOAL = 0.9  # of the in-process trainer's trajectories per second
WARM = 20  # steps until all actors are at work


def tasks(config: TokensConfig) -> dict[str, Callable[[], object]]:
    """What the in-process trainer does."""
    from delightful.paper.tokens.train import run

    return {"train": functools.partial(run, config, np.arange(1))}


def measure(
    config: TokensConfig | None = None,
    steps: int = 500,
    rounds: int = 6,
    actors: tuple[int, ...] = ACTORS,
) -> dict[str, Any]:
    """Time `rounds` of `steps`; the in-process trainer before and after each actor–learner."""
    config = replace(config or TokensConfig(), steps=steps, records=1)
    with connected("local", cores()), contextlib.ExitStack() as stack:
        trainers = {n: stack.enter_context(_trainer(config, n)) for n in {1, cores()}}
        for trainer in trainers.values():
            trainer.seconds("train")  # compiles
        alone = {n: min(one.seconds("train") for _ in range(2)) for n, one in trainers.items()}
        threads = min(alone, key=alone.__getitem__)
        found = {str(n): _both(config, n, rounds, trainers[threads]) for n in actors}
    sizes = {"cores": cores(), "in_process_threads": threads, "steps": steps, "rounds": rounds}
    return {"actors": found, **sizes}


@contextlib.contextmanager
def _trainer(config: TokensConfig, threads: int) -> Iterator[Workers]:
    """The in-process trainer with so many XLA threads; this process keeps its own."""
    with contextlib.ExitStack() as stack:
        with mock.patch.dict(os.environ, {"NPROC": str(threads)}):
            setup = "delightful.benchmarks.actor_learner:tasks"
            trainer = stack.enter_context(workers(1, setup, config))
        yield trainer


def _both(config: TokensConfig, actors: int, rounds: int, trainer: Workers) -> dict[str, Any]:
    """With batches of a whole step; and of an actor's share of it, where that is another size."""
    found = _compared(config, actors, config.prompts, rounds, trainer)
    most = max(1, config.prompts // actors)
    share = max(n for n in range(1, most + 1) if config.prompts % n == 0)
    if share < config.prompts:
        found["shared_steps"] = _compared(config, actors, share, rounds, trainer)
    return found


def _compared(
    config: TokensConfig, actors: int, prompts: int, rounds: int, trainer: Workers
) -> dict[str, Any]:
    ours, theirs = [], []
    for _ in range(rounds):
        before = trainer.seconds("train")
        ours.append(_run(config, actors, prompts))
        took = (before + trainer.seconds("train")) / 2  # a machine's speed drifts
        theirs.append(config.batch * config.steps / took)
    rates = np.array([one["trajectories_per_second"] for one in ours])
    middles = {name: float(np.median([one[name] for one in ours])) for name in ours[0]}
    return {
        **middles,
        "in_process_trajectories_per_second": float(np.median(theirs)),
        **median("ratio_to_in_process", rates / np.array(theirs)),
    }


def _run(config: TokensConfig, actors: int, prompts: int) -> dict[str, float]:
    """One run of the actor–learner, with batches of so many prompts."""
    from delightful.agents.actor_learner import ActorLearnerConfig, train
    from delightful.agents.actor_learner.training import Progress
    from delightful.agents.tokens.distributed import TokensActor, TokensLearner

    batches = config.prompts // prompts
    in_flight = 2 if actors < cores() else 1  # one actor would wait for the learner's answer
    times: dict[int, float] = {}

    def watch(progress: Progress) -> bool:
        times.setdefault(progress.step, time.perf_counter())
        return False

    steps = WARM + config.steps
    result = train(
        functools.partial(TokensActor, config, prompts),
        TokensLearner(config, 0, prompts),
        ActorLearnerConfig(actors, steps, batches, queue=batches, in_flight=in_flight),
        watch=watch,
    )
    found = result.summary()
    names = ("idle_fraction", "publish_milliseconds", "fetch_milliseconds")
    return {
        "prompts_per_batch": prompts,
        "in_flight": in_flight,
        "trajectories_per_second": config.batch * config.steps / (times[steps] - times[WARM]),
        **{name: found[name] for name in names},
        "staleness_mean": found["staleness"]["mean"],
        "dropped_batches": result.dropped.total(),
    }


def describe(figures: dict[str, Any]) -> str:
    """The figures of `measure` as text, with the goal."""
    threads = figures["in_process_threads"]
    lines = [
        f"Token Reversal, DG, 100 trajectories a step, {figures['cores']} cores; trajectories per "
        f"second; the in-process trainer has {threads} thread{'' if threads == 1 else 's'}"
    ]
    for actors, found in figures["actors"].items():
        lines += _lines(actors, found)
        lines += _lines(actors, found["shared_steps"]) if "shared_steps" in found else []
    return "\n".join(lines)


def _lines(actors: str, found: dict[str, Any]) -> list[str]:
    ratio = "ratio_to_in_process"
    return [
        f"{actors} actors, batches of {found['prompts_per_batch']:.0f} prompts, "
        f"{found['in_flight']:.0f} under way at each",
        f"  actor–learner           {found['trajectories_per_second']:.0f}"
        f"  (in-process trainer: {found['in_process_trajectories_per_second']:.0f})",
        f"  ratio                   {shown(found, ratio)}"
        f"  goal at least {GOAL:g}: {reached(found, ratio, least=GOAL)}",
        f"  learner idle            {found['idle_fraction']:.0%}",
        f"  parameter broadcast     {found['publish_milliseconds']:.2f} ms to publish, "
        f"{found['fetch_milliseconds']:.2f} ms until an actor has them",
        f"  staleness               {found['staleness_mean']:.2f} updates on average",
    ]
