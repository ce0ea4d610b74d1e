"""The actor–learner on Token Reversal: trajectories per second, beside the in-process trainer.

Both train DG with the paper's network, 100 trajectories a step, on the same cores. The in-process
trainer is one process with an XLA thread for each core, which samples and learns in turn. Of the
actor–learner every process has one thread, and an actor's batch is its share of a step. Its
trajectories are those that the learner used; starting and compiling are not counted.
"""

import functools
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from delightful.agents.tokens.config import TokensConfig
from delightful.benchmarks import verdict
from delightful.benchmarks.timing import median, shown
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
    steps: int = 300,
    rounds: int = 3,
    actors: tuple[int, ...] = ACTORS,
) -> dict[str, Any]:
    """Time `rounds` of `steps`; the in-process trainer before and after each actor–learner."""
    config = replace(config or TokensConfig(), steps=steps, records=1)
    with (
        connected("local", cores()),
        mock.patch.dict(os.environ, {"NPROC": str(cores())}),
        workers(1, "delightful.benchmarks.actor_learner:tasks", config) as trainer,
    ):
        trainer.seconds("train")  # compiles
        found = {str(n): _compared(config, n, rounds, trainer) for n in actors}
    return {"actors": found, "cores": cores(), "steps": steps, "rounds": rounds}


def _compared(config: TokensConfig, actors: int, rounds: int, trainer: Workers) -> dict[str, Any]:
    ours, theirs = [], []
    for _ in range(rounds):
        before = trainer.seconds("train")
        ours.append(_run(config, actors))
        took = (before + trainer.seconds("train")) / 2  # a machine's speed drifts
        theirs.append(config.batch * config.steps / took)
    rates = np.array([one["trajectories_per_second"] for one in ours])
    middles = {name: float(np.median([one[name] for one in ours])) for name in ours[0]}
    return {
        **middles,
        "in_process_trajectories_per_second": float(np.median(theirs)),
        **median("ratio_to_in_process", rates / np.array(theirs)),
    }


def _run(config: TokensConfig, actors: int) -> dict[str, float]:
    """One run of the actor–learner."""
    from delightful.agents.actor_learner import ActorLearnerConfig, train
    from delightful.agents.actor_learner.training import Progress
    from delightful.agents.tokens.distributed import TokensActor, TokensLearner

    most = max(1, config.prompts // actors)
    share = max(n for n in range(1, most + 1) if config.prompts % n == 0)
    batches = config.prompts // share
    times: dict[int, float] = {}

    def watch(progress: Progress) -> bool:
        times.setdefault(progress.step, time.perf_counter())
        return False

    steps = WARM + config.steps
    result = train(
        functools.partial(TokensActor, config, share),
        TokensLearner(config, 0, share),
        ActorLearnerConfig(actors=actors, steps=steps, batches=batches, queue=batches),
        watch=watch,
    )
    found = result.summary()
    names = ("idle_fraction", "publish_milliseconds", "fetch_milliseconds")
    return {
        "prompts_per_batch": share,
        "trajectories_per_second": config.batch * config.steps / (times[steps] - times[WARM]),
        **{name: found[name] for name in names},
        "staleness_mean": found["staleness"]["mean"],
        "dropped_batches": result.dropped.total(),
    }


def describe(figures: dict[str, Any]) -> str:
    """The figures of `measure` as text, with the goal."""
    lines = [
        f"Token Reversal, DG, 100 trajectories a step, {figures['cores']} cores; "
        "trajectories per second"
    ]
    for actors, found in figures["actors"].items():
        ratio = "ratio_to_in_process"
        lines += [
            f"{actors} actors, batches of {found['prompts_per_batch']:.0f} prompts",
            f"  actor–learner           {found['trajectories_per_second']:.0f}"
            f"  (in-process trainer: {found['in_process_trajectories_per_second']:.0f})",
            f"  ratio                   {shown(found, ratio)}"
            f"  {verdict('goal at least', GOAL, found[ratio] >= GOAL)}",
            f"  learner idle            {found['idle_fraction']:.0%}",
            f"  parameter broadcast     {found['publish_milliseconds']:.2f} ms to publish, "
            f"{found['fetch_milliseconds']:.2f} ms until an actor has them",
            f"  staleness               {found['staleness_mean']:.2f} updates on average",
        ]
    return "\n".join(lines)
