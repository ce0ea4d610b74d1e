"""`delightful train`: one run, watched. Its folder holds all that there is to know of it.

log.jsonl      one line per evaluation
tensorboard/   the same, for TensorBoard
policy.bin     the actor it ended with, and its config
checkpoint.json, *.bin   what it goes on from when the same command is given again
"""

import json
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from delightful.agents.control import rendering, training
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.serialization import flatten, pack
from delightful.agents.control.tensorboard import Board
from delightful.agents.control.training import Record
from delightful.lab.config import canonical, change, whole_number
from delightful.lab.errors import LabError
from delightful.lab.store import cannot_write, write_whole

try:
    import fcntl
except ImportError:  # Windows: two runs in one folder are not told apart
    fcntl = None  # type: ignore[assignment]

EVALUATED_EVERY = 10_000  # steps


def run(options: Namespace, changes: dict[str, str]) -> None:
    config = configured(options, changes)
    if options.render:
        rendering.check(config, Path(options.render))  # now, not after hours of training
    name = f"{config.task}-{config.method}-seed{options.seed}".replace(":", "-")
    folder = Path(options.out or Path("runs") / name)
    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    console.print(f"{config.task}, {config.method}, {config.steps:,} steps: {folder}")
    with _alone(folder), closing(Board(folder / "tensorboard")) as board:
        watcher = Watcher(config, folder, console, board)
        with watcher.watching(), _told_to_stop(watcher):
            records, weights = training.train(config, options.seed, folder, watcher)
        watcher.write(records)
    if watcher.stopped and len(records) < config.records:
        raise LabError("stopped; give the same command again to go on.")
    policy = pack({"config": asdict(config)}, flatten(weights))
    _written(folder / "policy.bin", policy)
    last = records[-1]
    dropped = sum(int(record["dropped"]) for record in records)
    print(
        f"{config.task} after {config.steps:,} steps: return {last['deterministic']:.1f} with the "
        f"mean action, {last['stochastic']:.1f} with drawn ones (means of {config.episodes} "
        f"episodes each)"
        + (f"; {dropped} episodes dropped, in which the simulator gave NaN" if dropped else "")
        + (f"; actors started again {watcher.restarts}×" if watcher.restarts else "")
    )
    if options.render:
        rendering.render(config, weights, options.seed, Path(options.render))
        print(f"an episode of it: {options.render}")


def configured(options: Namespace, changes: dict[str, str]) -> ControlConfig:
    """The config that the options ask for."""
    steps = whole_number("--steps", options.steps)
    if steps < 1:
        raise LabError(f"--steps must be at least 1, got {options.steps}.")
    if not 0 <= options.seed < 2**31:
        raise LabError(f"--seed must be at least 0 and below 2**31, got {options.seed}.")
    if find_spec("tensorboardX") is None:
        raise LabError("train needs tensorboardX: pip install 'delightful-rl[control]'.")
    records = max(1, steps // EVALUATED_EVERY)
    config = ControlConfig(
        method=options.method, task=options.task, steps=steps - steps % records, records=records
    )
    try:
        changed: ControlConfig = canonical(change(config, changes, "train"))
    except ValueError as error:
        raise LabError(f"{error}.") from None
    return changed


@dataclass
class Watcher:
    """Shows a run to a person, keeps its log, and tells it to stop."""

    config: ControlConfig
    folder: Path
    console: Console
    board: Board
    stopped: bool = False
    restarts: int = 0  # of the actors' process
    _seen: int | None = None  # records written by this command
    _started: float = field(default_factory=time.monotonic)
    _first: int | None = None  # the step at which this command began
    _bar: Any = None

    def __call__(self, progress: training.Progress) -> bool:
        if self._first is None:
            self._first = progress.step
            self._started = time.monotonic()
        elapsed = max(time.monotonic() - self._started, 1e-9)
        rate = (progress.step - self._first) / elapsed
        last = progress.records[-1] if progress.records else None
        words = [f"{rate:.0f} steps/s"]
        words += [f"return {last['deterministic']:.1f}"] if last else []
        words += [f"training {progress.training:.1f}"] if progress.training is not None else []
        dropped = sum(record["dropped"] for record in progress.records)
        words += [f"{dropped:.0f} episodes dropped (NaN)"] if dropped else []
        self.restarts = progress.restarts
        words += [f"actors restarted {self.restarts}×"] if self.restarts else []
        self._bar.update(0, completed=progress.step, said=", ".join(words))
        if len(progress.records) != self._seen:
            self.write(progress.records)
            if last and not self.console.is_terminal:
                left = (self.config.steps - progress.step) / max(rate, 1e-9)
                words.append(f"about {left / 60:.0f} min left")
                self.console.print(f"{progress.step:,} steps, {', '.join(words)}")
        return self.stopped

    @contextmanager
    def watching(self) -> Iterator[None]:
        columns = (
            TextColumn("{task.completed:,.0f} steps"),
            BarColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[said]}"),
        )
        with Progress(*columns, console=self.console, disable=not self.console.is_terminal) as bar:
            bar.add_task("steps", total=self.config.steps, said="")
            self._bar = bar
            yield

    def write(self, records: list[Record]) -> None:
        """The log, whole, and TensorBoard's, to which new records are added."""
        lines = [json.dumps(record) for record in records]
        _written(self.folder / "log.jsonl", "".join(f"{line}\n" for line in lines).encode())
        self.board.add(records[self._seen :])
        self._seen = len(records)


def _written(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    except OSError as error:
        raise cannot_write(path, error) from None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other process may train in the folder meanwhile; the system forgets one that dies."""
    if fcntl is None:
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / ".lock", "w")  # noqa: SIM115 (closed below, after the work)
    except OSError as error:
        raise cannot_write(folder, error) from None
    with lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LabError(f"{folder} is in use by another process; give another --out.") from None
        yield


@contextmanager
def _told_to_stop(watcher: Watcher) -> Iterator[None]:
    """The first Ctrl-C ends the run at its next checkpoint; a second one at once."""

    def stop(*_: object) -> None:
        if watcher.stopped:
            raise KeyboardInterrupt
        watcher.stopped = True
        print("stopping at the next checkpoint; Ctrl-C again to stop at once", file=sys.stderr)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
