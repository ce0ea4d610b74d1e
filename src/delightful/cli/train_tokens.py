"""`delightful train tokens:TASK`: Token Reversal with actors on Ray. The folder of a run holds

log.jsonl        one line per gradient step, with its staleness
tensorboard/     the same, for TensorBoard
staleness.png    histograms of staleness, of all batches and of each actor
summary.json     staleness, dropped batches, restarts, speed
checkpoint.json, state-*.safetensors
                 resumed from when the same command is given again; the policy is in the latter
"""

import json
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress

from delightful.agents.actor_learner import histogram, training
from delightful.agents.actor_learner.config import ActorLearnerConfig
from delightful.agents.actor_learner.log import Log
from delightful.agents.tokens.config import TASKS, TokensConfig
from delightful.cli.options import changes_of, preset
from delightful.lab.config import canonical, change, whole_number
from delightful.lab.duration import duration
from delightful.lab.errors import LabError, install, unknown
from delightful.lab.store import locked, write_whole, writing

BETWEEN_LINES = 10.0  # seconds, where there is no terminal
PATIENCE = 60.0  # seconds without a batch, before that is said


def run(options: Namespace) -> None:
    """Train or resume a run; then draw its staleness and print where everything is."""
    config, system = configured(options)
    name = f"tokens-{config.task}-{config.method}-seed{options.seed}".replace(":", "-")
    folder = Path(options.out or Path("runs") / name)
    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    console.print(
        f"tokens:{config.task}, {config.method}, {system.actors} actors, {system.steps:,} steps: "
        f"{folder}"
    )
    busy = f"{folder} is in use by another process; give another --out."
    with locked(folder, busy=busy), closing(Log(folder, system.steps)) as log:
        watcher = Watcher(system.steps, console, log)
        with watcher.watching():
            result = _train(config, system, options, folder, watcher)
        if result.step < system.steps:
            raise LabError("stopped; give the same command again to go on.")
        if result.steps or not (folder / "summary.json").exists():  # not for a finished run
            _write_end(config, system, folder, result)
    _print_end(config, folder, result)


def _train(
    config: TokensConfig,
    system: ActorLearnerConfig,
    options: Namespace,
    folder: Path,
    watcher: "Watcher",
) -> training.Result:
    from delightful.agents.tokens.distributed import TokensActor, TokensLearner

    prompts = config.prompts // system.batches
    learner = TokensLearner(config, options.seed, prompts)
    # Compiled here once: actors on this machine then find the program in JAX's cache.
    TokensActor(config, prompts).sample(learner.parameters(), np.random.default_rng(0))
    return training.train(
        partial(TokensActor, config, prompts),
        learner,
        system,
        options.seed,
        folder=folder,
        about={"config": asdict(config)},
        address=options.ray_address,
        watch=watcher,
        say=watcher.console.print,
    )


def _write_end(
    config: TokensConfig, system: ActorLearnerConfig, folder: Path, result: training.Result
) -> None:
    title = (
        f"tokens:{config.task}, {config.method}: {system.actors} actors, {result.step:,} steps, "
        f"queue of {system.queue} batches"
    )
    found = {"config": asdict(config), "actor_learner": asdict(system), **result.summary()}
    with writing(folder):
        write_whole(folder / "staleness.png", histogram.draw(result.staleness, title))
        write_whole(folder / "summary.json", json.dumps(found, indent=1).encode())


def _print_end(config: TokensConfig, folder: Path, result: training.Result) -> None:
    found = result.staleness.summary()
    counts = {
        "batches dropped from a full queue": result.dropped.total(),
        "unusable batches dropped": result.rejected.total(),
        "actors restarted": result.restarts.total(),
    }
    said = "".join(f"; {what}: {count}" for what, count in counts.items() if count)
    print(
        f"tokens:{config.task} after {result.step:,} steps: staleness {found['mean']:.2f} updates "
        f"on average, median {found['p50']}, 90% at most {found['p90']}, at most {found['max']}"
        f"{said}\n"
        f"  staleness    {folder / 'staleness.png'}\n"
        f"  summary      {folder / 'summary.json'}\n"
        f"  log          {folder / 'log.jsonl'}\n"
        f"  checkpoint   {folder / 'checkpoint.json'}"
    )


def configured(options: Namespace) -> tuple[TokensConfig, ActorLearnerConfig]:
    """The configs that the options ask for."""
    task = options.task.removeprefix("tokens:")
    if task not in TASKS:
        raise unknown("task", options.task, [f"tokens:{name}" for name in TASKS])
    if not 0 <= options.seed < 2**31:
        raise LabError(f"--seed must be at least 0 and below 2**31, got {options.seed}.")
    for package in ("ray", "safetensors", "tensorboardX"):
        if find_spec(package) is None:
            raise LabError(f"train {options.task} needs {package}: {install('ray')}.")
    flags = {"delay": "--actor-lag", "steps": "--steps", "task": "the task", "method": "--method"}
    flags["ages"] = "--actor-lag"
    changes = preset(options.preset) | changes_of(options)
    for name in flags.keys() & changes.keys():
        raise LabError(f"{name} cannot be set here: give {flags[name]}.")
    steps = whole_number("--steps", options.steps)
    if steps < 1:
        raise LabError(f"--steps must be at least 1, got {options.steps}.")
    try:
        config = TokensConfig(method=options.method, task=task, steps=steps, records=1)
        config = canonical(change(config, changes, "tokens"))
        batches = batches_of_step(config, options.batch_prompts)
        system = ActorLearnerConfig(
            actors=10 if options.actors is None else options.actors,
            steps=steps,
            batches=batches,
            queue=batches if options.queue is None else options.queue,
            in_flight=1 if options.in_flight is None else options.in_flight,
            lag=options.actor_lag or 0,
            slow=tuple(map(slow_actor, options.slow_actor)),
        )
        system.check()
    except ValueError as error:
        raise LabError(f"{error}.") from None
    return config, system


def batches_of_step(config: TokensConfig, prompts: int | None) -> int:
    """How many batches of so many prompts make a step; the paper's batches have one prompt."""
    prompts = 1 if prompts is None else prompts
    if prompts < 1:
        raise LabError(f"--batch-prompts must be at least 1, got {prompts}.")
    if config.prompts % prompts:
        step = f"the {config.prompts} prompts of a step (--set prompts=N)"
        raise LabError(f"--batch-prompts must divide {step}, got {prompts}.")
    return config.prompts // prompts


def slow_actor(text: str) -> tuple[int, float]:
    """An actor and its speed, from text such as 3=0.5."""
    actor, _, speed = text.partition("=")
    try:
        return int(actor), float(speed)
    except ValueError:
        raise LabError(
            f"--slow-actor must read ACTOR=SPEED, such as 3=0.5, got {text!r}."
        ) from None


@dataclass
class Watcher:
    """Shows a run's progress, writes its log, and stops it on Ctrl-C."""

    steps: int
    console: Console
    log: Log
    stopped: bool = False
    _first: tuple[int, float] | None = None  # the first step of this command, and when it was made
    _said: float = 0.0
    _heard: float = field(default_factory=time.monotonic)  # when a step was made, or this was said
    _bar: Any = None

    def __call__(self, progress: training.Progress) -> bool:
        now = time.monotonic()
        if progress.record is None and now - self._heard > PATIENCE:
            self._heard = now
            said = "are actors still starting, or has the cluster no free cores?"
            self.console.print(f"no step for {PATIENCE:.0f} s: {said}")
        if progress.record is not None:
            self._heard = now
            self.log.add(progress.record)
            self._first = self._first or (progress.step, now)
            if now - self._said > (0.2 if self.console.is_terminal else BETWEEN_LINES):
                self._said = now
                self._show(progress, progress.record, now)
        return self.stopped

    def _show(self, progress: training.Progress, record: training.Record, now: float) -> None:
        assert self._first is not None
        first, started = self._first
        rate = (progress.step - first) / max(now - started, 1e-9)
        words = [f"reward {record['reward']:.2f}", f"staleness {record['staleness_mean']:.1f}"]
        words += [f"{rate:.1f} steps/s"] if rate else []
        words += [f"{progress.dropped} batches dropped"] if progress.dropped else []
        words += [f"{progress.rejected} unusable batches"] if progress.rejected else []
        words += [f"actors restarted {progress.restarts}×"] if progress.restarts else []
        left = self.steps - progress.step
        words += [f"about {duration(left / rate)} left"] if rate and left else []
        self._bar.update(0, completed=progress.step, said=", ".join(words))
        if not self.console.is_terminal:
            self.console.print(f"{progress.step:,} steps, {', '.join(words)}")

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Show a progress bar, if there is a terminal, and handle Ctrl-C."""
        columns = "{task.completed:,.0f} steps", BarColumn(), "{task.fields[said]}"
        hidden = not self.console.is_terminal
        with Progress(*columns, console=self.console, disable=hidden) as self._bar:
            self._bar.add_task("steps", total=self.steps, said="starting actors")
            before = signal.signal(signal.SIGINT, self._stop)
            try:
                yield
            finally:
                signal.signal(signal.SIGINT, before)

    def _stop(self, *_: object) -> None:
        """Stop at a checkpoint on Ctrl-C, and at once on a second one."""
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
        print("stopping at a checkpoint; Ctrl-C again to stop at once", file=sys.stderr)
