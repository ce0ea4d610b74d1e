"""`delightful train`: one run, with its progress shown. Its folder holds all that it leaves.

policy.safetensors   the actor at the end, and its config: for `load_policy` and `delightful play`
log.jsonl            one line per evaluation
tensorboard/         the same, for TensorBoard
checkpoint.json, state-*.safetensors, replay-*.safetensors
                     resumed from when the same command is given again, or one with --extend: so
                     a finished run keeps its replay buffer too
"""

import json
import shlex
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress

from delightful.agents.control import rendering, training
from delightful.agents.control.checkpoints import read_entry
from delightful.agents.control.config import EVALUATED_EVERY, READINGS, ControlConfig
from delightful.agents.control.policy import Policy, policy_bytes
from delightful.agents.control.settings import settings
from delightful.agents.control.training import Record
from delightful.agents.control.warning import advice_if_dead
from delightful.agents.tensorboard import TensorBoard
from delightful.cli.options import changes_of
from delightful.lab.config import canonical, change, whole_number
from delightful.lab.errors import LabError, install
from delightful.lab.store import locked, write_whole, writing

POLICY = "policy.safetensors"


def run(options: Namespace) -> None:
    """Train, resume or extend a run; then write its policy, and print where everything is."""
    config = configured(options)
    if options.render:  # checked now, not after hours of training
        rendering.check(config.task, Path(options.render), "--render")
    name = f"{config.task}-{config.method}-seed{options.seed}".replace(":", "-")
    folder = Path(options.out or Path("runs") / name)
    if options.extend:
        config = extended(config, folder)
    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    console.print(f"{config.task}, {config.method}, {config.steps:,} steps: {folder}")
    busy = f"{folder} is in use by another process; give another --out."
    with locked(folder, busy=busy), closing(TensorBoard(folder / "tensorboard")) as tensorboard:
        watcher = Watcher(config, folder, console, tensorboard)
        with watcher.watching():
            records, weights = training.train(
                config, options.seed, folder, watcher, extend=options.extend
            )
        watcher.write(records)
    if watcher.stopped and len(records) < config.records:
        raise LabError("stopped; give the same command again to go on.")
    policy = Policy(config, weights)
    _write(folder / POLICY, policy_bytes(policy))
    _print_end(config, folder, records, watcher.restarts)
    if options.render:
        rendering.render(policy, options.seed, Path(options.render))
        print(f"  an episode   {options.render}")


def _print_end(config: ControlConfig, folder: Path, records: list[Record], restarts: int) -> None:
    last = records[-1]
    dropped = sum(int(record["dropped"]) for record in records)
    print(
        f"{config.task} after {config.steps:,} steps: return {last['deterministic']:.1f} with the "
        f"mean action, {last['stochastic']:.1f} with sampled ones (means of {config.episodes} "
        f"episodes each)"
        + (f"; {dropped} episodes dropped, in which the simulator gave NaN" if dropped else "")
        + (f"; actors restarted {restarts}×" if restarts else "")
    )
    policy, logs = (shlex.quote(str(folder / name)) for name in (POLICY, "tensorboard"))
    print(
        f"  policy       {folder / POLICY} (delightful play {policy})\n"
        f"  log          {folder / 'log.jsonl'}\n"
        f"               (pip install tensorboard; tensorboard --logdir {logs})\n"
        f"  checkpoint   {folder / 'checkpoint.json'} (to train on: --extend and more --steps)"
    )


def extended(config: ControlConfig, folder: Path) -> ControlConfig:
    """`config` with the evaluation spacing of the run in `folder`, its steps rounded down to it."""
    entry = read_entry(folder)
    if entry is None:
        raise LabError(f"{folder} has no run to extend: leave out --extend to start one.")
    before, done = (entry["run"]["config"][name] for name in ("steps", "records"))
    interval = before // done
    records = config.steps // interval
    if config.steps != before and records <= done:
        raise LabError(
            f"--steps must be at least {before + interval:,} to extend the run in {folder}, which "
            f"has {before:,} and is evaluated every {interval:,}; got {config.steps:,}."
        )
    return replace(config, steps=records * interval, records=records)


def configured(options: Namespace) -> ControlConfig:
    """The config that the options ask for."""
    steps = whole_number("--steps", options.steps)
    if steps < 1:
        raise LabError(f"--steps must be at least 1, got {options.steps}.")
    if not 0 <= options.seed < 2**31:
        raise LabError(f"--seed must be at least 0 and below 2**31, got {options.seed}.")
    for package in ("safetensors", "tensorboardX"):
        if find_spec(package) is None:
            raise LabError(f"train needs {package}: {install('control')}.")
    records = max(1, steps // EVALUATED_EVERY)
    changes = changes_of(options)
    reading = changes.get("reading", ControlConfig().reading)
    own = settings(reading, options.method) if reading in READINGS else {}  # else `check` refuses
    sizes = {"task": options.task, "steps": steps - steps % records, "records": records}
    config = ControlConfig(**own | {"method": options.method} | sizes)
    try:
        return canonical(change(config, changes, "train"))
    except ValueError as error:
        raise LabError(f"{error}.") from None


@dataclass
class Watcher:
    """Shows a run's progress, writes its log, and stops it on Ctrl-C."""

    config: ControlConfig
    folder: Path
    console: Console
    tensorboard: TensorBoard
    stopped: bool = False
    restarts: int = 0  # of the actors' process
    _warned: bool = False  # of a dead gate
    _seen: int | None = None  # records written by this command
    _first: tuple[int, float] | None = None  # the step after this command's first chunk, and when
    _bar: Any = None

    def __call__(self, progress: training.Progress) -> bool:
        now = time.monotonic()
        self._first = self._first or (progress.step, now)
        first, started = self._first
        rate = (progress.step - first) / max(now - started, 1e-9)
        last = progress.records[-1] if progress.records else None
        words = [f"{rate:.0f} steps/s"] if rate else []
        words += [f"return {last['deterministic']:.1f}"] if last else []
        words += [f"training {progress.training:.1f}"] if progress.training is not None else []
        dropped = sum(record["dropped"] for record in progress.records)
        words += [f"{dropped:.0f} episodes dropped (NaN)"] if dropped else []
        self.restarts = progress.restarts
        words += [f"actors restarted {self.restarts}×"] if self.restarts else []
        left = self.config.steps - progress.step
        words += [remaining(left, rate)] if rate and left else []
        self._bar.update(0, completed=progress.step, said=", ".join(words))
        if len(progress.records) != self._seen:
            self.write(progress.records)
            self._warn(progress.records)
            if last and not self.console.is_terminal:
                self.console.print(f"{progress.step:,} steps, {', '.join(words)}")
        return self.stopped

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Show a progress bar, if there is a terminal, and handle Ctrl-C."""
        columns = "{task.completed:,.0f} steps", BarColumn(), "{task.fields[said]}"
        hidden = not self.console.is_terminal
        with Progress(*columns, console=self.console, disable=hidden) as self._bar:
            self._bar.add_task("steps", total=self.config.steps, said="")
            before = signal.signal(signal.SIGINT, self._stop)
            try:
                yield
            finally:
                signal.signal(signal.SIGINT, before)

    def _stop(self, *_: object) -> None:
        """Stop at the next checkpoint on Ctrl-C, and at once on a second one."""
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
        print("stopping at the next checkpoint; Ctrl-C again to stop at once", file=sys.stderr)

    def _warn(self, records: list[Record]) -> None:
        """Say once that DG's gate does nothing, if it has done nothing for several evaluations."""
        if not self._warned and (advice := advice_if_dead(self.config, records)):
            self._warned = True
            self.console.print(f"warning: {advice}")

    def write(self, records: list[Record]) -> None:
        """Write the log, and add new records to TensorBoard's."""
        lines = [json.dumps(record) for record in records]
        _write(self.folder / "log.jsonl", "".join(f"{line}\n" for line in lines).encode())
        self.tensorboard.add(records[self._seen :])
        self._seen = len(records)


def remaining(steps: int, rate: float) -> str:
    """The time for `steps` at `rate` per second, which is this command's own, also on a resume."""
    seconds = steps / rate
    return f"about {seconds:.0f} s left" if seconds < 120 else f"about {seconds / 60:.0f} min left"


def _write(path: Path, data: bytes) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
