"""How long a run will take on this machine, estimated before it starts.

The estimate uses the times of cells of the same program that this store saw run; those that were
copied into it may come from another machine. Where there are none, the program's time on the
reference machine is scaled by a short speed test. Cells that differ in floats
and seeds alone share a compiled program, which takes its time once.
"""

import dataclasses
import functools
import heapq
import statistics
import time
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from delightful.lab.cells import Cell
from delightful.lab.compiling import separate
from delightful.lab.config import has_method
from delightful.lab.duration import duration
from delightful.lab.store import Store
from delightful.lab.wording import plural

_REFERENCE_SPEED_TEST = 0.0042  # seconds of `_speed_test` on the reference machine (x86-64)
_START = 2.0  # seconds for a worker to start


def estimate(
    to_run: Sequence[Cell], done: Sequence[Cell], store: Store, workers: int
) -> tuple[float, str]:
    """Seconds for what is left of some cells, and what the estimate is based on."""
    speed = Speed(done, store)
    total = speed.total(to_run)
    known = all(cell.program.name in speed.measured for cell in to_run)
    source = "from cells timed here" if known else "from a reference machine and a speed test"
    return _START + total / max(1, min(workers, len(to_run))), source


def forecast(cells: Sequence[Cell], store: Store, workers: int) -> str:
    """What running some cells would cost, in lines of text.

    Args:
        cells: What would be run, as far as it has not been.
        store: Where finished cells are.
        workers: How many cells would run at a time.

    Returns:
        The number of cells, core-hours, wall-clock time, and the longest cell.
    """
    cells = list({cell.id: cell for cell in cells}.values())
    done = [cell for cell in cells if store.state(cell) == "done"]
    to_run = [cell for cell in cells if cell not in set(done)]
    if not to_run:
        return f"{plural(len(done), 'cell')} done already; nothing to run."
    speed = Speed(done, store)
    seconds = {cell: speed.seconds(cell) for cell in to_run}
    longest = max(to_run, key=seconds.__getitem__)
    source = estimate(to_run, done, store, workers)[1]
    return "\n".join(
        (
            f"{plural(len(to_run), 'cell')} to run, {len(done)} done already ({source})",
            f"  work: {sum(seconds.values()) / 3600:.3g} core-hours",
            f"  wall-clock: about {duration(_START + makespan(seconds.values(), workers))} "
            f"on {workers} workers of one core each, long cells first",
            f"  longest cell: {longest}{_settings(longest)}, about {duration(seconds[longest])}, "
            "which no number of workers makes shorter",
        )
    )


def _settings(cell: Cell) -> str:
    """What tells a cell from others of its name: fields that differ from the defaults."""
    named = ("task", "method")  # in str(cell)
    found = {
        field.name: getattr(cell.config, field.name)
        for field in dataclasses.fields(cell.config)
        if field.name not in named and getattr(cell.config, field.name) != field.default
    }
    said = ", ".join(f"{name}={value}" for name, value in found.items())
    return f" ({said})" if said else ""


def makespan(seconds: Iterable[float], workers: int) -> float:
    """When the last of some jobs ends, if each worker takes the longest job that is left."""
    ends = [0.0] * workers
    for job in sorted(seconds, reverse=True):
        heapq.heapreplace(ends, ends[0] + job)
    return max(ends)


class Speed:
    """How long cells take here, from those that have been run."""

    def __init__(self, done: Iterable[Cell], store: Store) -> None:
        self._store = store
        self._compiled: set[Hashable] = set()
        times = defaultdict[str, list[float]](list)  # relative to what was guessed
        ours = store.run_here()
        for cell in done:
            if cell.id in ours and (entry := store.entry(cell)):
                times[cell.program.name].append(entry["seconds"] / self._guess(cell))
                self._compiled.add(_compiled(cell))
        # Some cells took long because the machine was busy, which the median does not mind.
        self.measured = {name: statistics.median(those) for name, those in times.items()}

    def seconds(self, cell: Cell) -> float:
        """Seconds of one core for what is left of a cell."""
        factor = self.measured.get(cell.program.name) or _speed_factor()
        return (1 - cell.share(self._store.unfinished(cell))) * self._guess(cell) * factor

    def each(self, cells: Iterable[Cell]) -> list[float]:
        """As `seconds` for several cells, each program compiled once."""
        before, seconds = set(self._compiled), []
        for cell in cells:
            seconds.append(self.seconds(cell))
            self._compiled.add(_compiled(cell))
        self._compiled = before
        return seconds

    def total(self, cells: Iterable[Cell]) -> float:
        """The sum of `each`."""
        return sum(self.each(cells))

    def _guess(self, cell: Cell) -> float:
        return guess(cell) - (cell.program.start if _compiled(cell) in self._compiled else 0.0)


@functools.cache
def _speed_factor() -> float:
    """How much slower than the reference machine this one is, by a short speed test."""
    return _speed_test() / _REFERENCE_SPEED_TEST


def _compiled(cell: Cell) -> Hashable:
    """What cells have in common that share a compiled program."""
    config = cell.config
    if not has_method(config):
        return cell.program.name, config
    static, fixed, *_ = separate(config)
    return cell.program.name, static, fixed


def guess(cell: Cell) -> float:
    """Seconds for a whole cell on the reference machine, compiling included."""
    return cell.program.start + cell.program.seconds(cell.config) * cell.seeds


def _speed_test() -> float:
    """Seconds for a fixed piece of float32 arithmetic on one core, best of five.

    Of this thread's own time, without new memory: `reproduce` writes its report in another thread
    meanwhile.
    """
    x = np.linspace(-1, 1, 500_000, dtype=np.float32)
    y = np.empty_like(x)
    best = float("inf")
    for _ in range(5):
        start = time.thread_time()
        for _ in range(4):
            np.exp(x, out=y)
            np.multiply(y, x, out=y)
            np.add(y, x, out=y)
            np.tanh(y, out=y).sum()
        best = min(best, time.thread_time() - start)
    return best
