"""What every runner does: compute a cell, and store it."""

import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from delightful.lab.cells import Cell
from delightful.lab.errors import BrokenRunError
from delightful.lab.store import Store, to_parquet, to_table

Outcome = float | BrokenRunError
"""The seconds that a cell took, or why it failed."""


class Runner(Protocol):
    """Runs cells somewhere."""

    def prepare(self, cells: Sequence[Cell]) -> None:
        """Make sure that these cells can run; a LabError says why they cannot."""

    @property
    def slots(self) -> int:
        """How many cells run at a time."""

    def run(self, cells: Iterable[Cell], store: Store) -> Iterator[tuple[Cell, Outcome]]:
        """Run cells; each with its outcome as it ends.

        The next cell of an iterator is taken when a slot is free, so that it may choose it then.
        """

    def place(self, cells: int) -> str:
        """Where so many cells run, such as "2 processes"."""

    def status(self) -> str:
        """What there is to say of a run that is on; may be empty."""


class Computed(NamedTuple):
    """A finished cell, before it is stored."""

    parquet: bytes
    rows: int
    seconds: float


def compute(cell: Cell, folder: Path) -> Computed:
    """Run one cell.

    Args:
        cell: What to run.
        folder: For its checkpoints, if it can resume.

    Returns:
        The bytes to be stored and the seconds it took. Those of a resumed cell are scaled up to
        all of its work.

    Raises:
        BrokenRunError: A result is not finite.
    """
    rest = 1 - cell.share(folder)
    # Time of one core, which is the same on a busy machine. A program with checkpoints may start
    # processes of its own, whose time only the clock on the wall shows.
    clock = time.perf_counter if cell.program.share else time.process_time
    start = clock()
    curves = cell.run(folder)
    seconds = (clock() - start) / max(rest, 0.1)
    for name, values in curves.items():
        if not np.all(np.isfinite(values)):
            raise BrokenRunError(f"{cell} gave NaN or infinity in {name}; it was not stored.")
    table = to_table(cell, curves)
    return Computed(to_parquet(table), table.height, seconds)


def keep(cell: Cell, done: Computed, store: Store, **facts: str) -> float:
    """Store a computed cell, and delete its checkpoints; the seconds it took.

    The caller holds the cell's lock. `facts` are added to its line in the store's log.
    """
    store.write_parquet(cell, done.parquet, done.rows, done.seconds)
    shutil.rmtree(store.unfinished(cell), ignore_errors=True)
    store.log("cell", id=cell.id, cell=str(cell), seconds=round(done.seconds, 4), **facts)
    return done.seconds


def run_cell(cell: Cell, store: Store) -> float:
    """Run one cell and store it, unless another process has just done so; the seconds it took."""
    with store.lock(cell):
        if store.state(cell) == "done":
            return 0.0
        return keep(cell, compute(cell, store.unfinished(cell)), store)
