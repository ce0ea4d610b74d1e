"""How long a run will take on this machine, estimated before it starts.

The estimate uses the times of stored cells of the same program. Where there are none, the
program's time on the reference machine is scaled by a short speed test.
"""

import functools
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from delightful.lab.cells import Cell
from delightful.lab.store import Store

_REFERENCE_SPEED_TEST = 0.0042  # seconds of `_speed_test` on the reference machine (x86-64)
_START = 2.0  # seconds for a worker to start


def estimate(
    to_run: Sequence[Cell], done: Sequence[Cell], store: Store, workers: int
) -> tuple[float, str]:
    """Seconds for what is left of some cells, and what the estimate is based on."""
    total, known = core_seconds(to_run, done, store)
    source = "from cells timed here" if known else "from a reference machine and a speed test"
    return _START + total / max(1, min(workers, len(to_run))), source


def core_seconds(to_run: Sequence[Cell], done: Sequence[Cell], store: Store) -> tuple[float, bool]:
    """Seconds of one core for what is left of some cells; whether all rests on cells timed here."""
    ratios = defaultdict(list)  # of the time here to that on the reference machine
    for cell in done:
        if entry := store.entry(cell):
            ratios[cell.program.name].append(entry["seconds"] / guess(cell))
    measured = {program: statistics.median(values) for program, values in ratios.items()}
    known = all(cell.program.name in measured for cell in to_run)
    factor = 1.0 if known else speed_factor()
    total = 0.0
    for cell in to_run:
        rest = 1 - cell.share(store.unfinished(cell))
        total += rest * guess(cell) * measured.get(cell.program.name, factor)
    return total, known


@functools.cache
def speed_factor() -> float:
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
