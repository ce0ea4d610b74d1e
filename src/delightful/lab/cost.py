"""How long a run will take on this machine, estimated before it starts.

The estimate uses the times of stored cells of the same program. Where there are none, the
program's time on the reference machine is scaled by a short speed test.
"""

import statistics
import timeit
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
    ratios = defaultdict(list)  # of the time here to that on the reference machine
    for cell in done:
        if entry := store.entry(cell):
            ratios[cell.program.name].append(entry["seconds"] / guess(cell))
    measured = {program: statistics.median(values) for program, values in ratios.items()}
    known = all(cell.program.name in measured for cell in to_run)
    factor = 1.0 if known else _speed_test() / _REFERENCE_SPEED_TEST
    total = 0.0
    for cell in to_run:
        rest = 1 - cell.share(store.unfinished(cell))
        total += rest * guess(cell) * measured.get(cell.program.name, factor)
    source = "from cells timed here" if known else "from a reference machine and a speed test"
    return _START + total / min(workers, len(to_run)), source


def guess(cell: Cell) -> float:
    """Seconds for a whole cell on the reference machine."""
    return cell.program.start + cell.program.seconds(cell.config) * cell.seeds


def _speed_test() -> float:
    """Seconds for a fixed piece of float32 arithmetic on one core, best of five."""
    x = np.linspace(-1, 1, 500_000, dtype=np.float32)
    return min(timeit.repeat(lambda: np.tanh(np.exp(x) * x + x).sum(), number=4, repeat=5))
