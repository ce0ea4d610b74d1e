"""How long a run will take on this machine, estimated before it starts.

The estimate uses the times of stored cells of the same program. Where there are none, the
program's time on the reference machine is scaled by a short speed test.
"""

import functools
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from delightful.lab.cells import Cell
from delightful.lab.store import Store

_REFERENCE_SPEED_TEST = 0.0042  # seconds of `_speed_test` on the reference machine (x86-64)
_START = 2.0  # seconds for a worker to start


def estimate(
    to_run: Sequence[Cell], done: Sequence[Cell], store: Store, workers: int
) -> tuple[float, str]:
    """Seconds for what is left of some cells, and what the estimate is based on."""
    speed = Speed(done, store)
    total = sum(map(speed.seconds, to_run))
    known = all(cell.program.name in speed.measured for cell in to_run)
    source = "from cells timed here" if known else "from a reference machine and a speed test"
    return _START + total / max(1, min(workers, len(to_run))), source


class Speed:
    """How long cells take here, from those that have been run."""

    def __init__(self, done: Iterable[Cell], store: Store) -> None:
        self._store = store
        ratios = defaultdict(list)  # of the time here to that on the reference machine
        for cell in done:
            if entry := store.entry(cell):
                ratios[cell.program.name].append(entry["seconds"] / guess(cell))
        self.measured = {name: statistics.median(values) for name, values in ratios.items()}

    def seconds(self, cell: Cell) -> float:
        """Seconds of one core for what is left of a cell."""
        factor = self.measured.get(cell.program.name) or _speed_factor()
        return (1 - cell.share(self._store.unfinished(cell))) * guess(cell) * factor


@functools.cache
def _speed_factor() -> float:
    """How much slower than the reference machine this one is, by a short speed test."""
    return _speed_test() / _REFERENCE_SPEED_TEST


def guess(cell: Cell) -> float:
    """Seconds for a whole cell on the reference machine."""
    return cell.program.start + cell.program.seconds(cell.config) * cell.seeds


def _speed_test() -> float:
    """Seconds for a fixed piece of float32 arithmetic on one core, best of five."""
    x = np.linspace(-1, 1, 500_000, dtype=np.float32)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(4):
            np.tanh(np.exp(x) * x + x).sum()
        best = min(best, time.perf_counter() - start)
    return best
