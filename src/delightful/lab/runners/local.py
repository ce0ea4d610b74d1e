"""Runners of one machine: in this process, or over local processes."""

import concurrent.futures
import itertools
import multiprocessing
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait

from delightful.lab import modules
from delightful.lab.cells import Cell, named
from delightful.lab.compiling import use_threads
from delightful.lab.errors import BrokenRunError, LabError
from delightful.lab.runners.running import Outcome, run_cell
from delightful.lab.signals import ignoring_ctrl_c
from delightful.lab.store import Store

POLL = 0.5  # seconds between checks for a Ctrl-C


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalRunner:
    """Runs cells over processes of this machine; a single one is this process.

    Args:
        workers: How many.
    """

    def __init__(self, workers: int) -> None:
        self.slots = workers

    def prepare(self, cells: Sequence[Cell]) -> None:
        """Make the data sets that these cells need available."""
        for prepare in {cell.program.prepare for cell in cells} - {""}:
            named(prepare)()

    def run(self, cells: Iterable[Cell], store: Store) -> Iterator[tuple[Cell, Outcome]]:
        """Run cells; see `Runner`."""
        return run_here(cells, store) if self.slots == 1 else run_local(cells, store, self.slots)

    def place(self, cells: int) -> str:
        """The number of processes, in words."""
        return f"{min(self.slots, cells)} processes"

    def status(self) -> str:
        """Nothing that the progress does not say."""
        return ""


def run_here(cells: Iterable[Cell], store: Store) -> Iterator[tuple[Cell, Outcome]]:
    """Run cells one after the other, in this process."""
    use_threads()
    for cell in cells:
        yield cell, _outcome(cell, store)


def run_local(cells: Iterable[Cell], store: Store, workers: int) -> Iterator[tuple[Cell, Outcome]]:
    """Run cells over `workers` processes of this machine, each single-threaded."""
    use_threads()  # inherited by the workers, before they import jax
    # JAX and polars have threads of their own, and a forked copy of them would hang.
    context = multiprocessing.get_context("spawn")
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, context, _start_worker, (tuple(modules.LOADED),))
    waiting, running = iter(cells), dict[Future[Outcome], Cell]()
    try:
        while True:
            with ignoring_ctrl_c():  # so that workers never receive it: the parent alone decides
                for cell in itertools.islice(waiting, workers - len(running)):
                    running[pool.submit(_outcome, cell, store)] = cell
            if not running:
                return
            for future in _first_completed(running):
                yield running.pop(future), future.result()
    except BrokenProcessPool:
        raise LabError(
            "a worker process was killed (out of memory?); finished cells are kept: "
            "give the same command again, perhaps with fewer --workers."
        ) from None
    finally:
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()  # also in the middle of a cell, which shutdown would wait for
        pool.shutdown(cancel_futures=True)


def _outcome(cell: Cell, store: Store) -> Outcome:
    try:
        return run_cell(cell, store)
    except BrokenRunError as error:
        return error


def _first_completed(running: Iterable[Future[Outcome]]) -> set[Future[Outcome]]:
    """The futures that are done, once there are any, with waits of at most POLL seconds.

    A wait without a timeout would delay a Ctrl-C until the next future is done: polars' signal
    handler restarts the wait, and Python's own handler only runs after it.
    """
    done: set[Future[Outcome]] = set()
    while not done:
        done, _ = concurrent.futures.wait(running, POLL, FIRST_COMPLETED)
    return done


def _start_worker(imports: Sequence[modules.Module]) -> None:
    threading.Thread(target=_die_with_parent, daemon=True).start()
    for module in imports:
        modules.load_again(module)


def _die_with_parent() -> None:
    """End this worker when its parent is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
