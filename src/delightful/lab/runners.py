"""Runners: cells in, finished cells in the store. In this process, or over local processes.

Every runner calls `run_cell`, so all of them store the same bytes; what differs is where it runs.
A runner yields each cell as it is finished or has failed, in no particular order.
"""

import concurrent.futures
import itertools
import multiprocessing
import os
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait

import numpy as np

from delightful.lab import modules
from delightful.lab.cells import Cell
from delightful.lab.compiling import use_threads
from delightful.lab.errors import BrokenRunError, LabError
from delightful.lab.signals import ignoring_ctrl_c
from delightful.lab.store import Store

POLL = 0.5  # seconds between checks for a Ctrl-C

Outcome = float | BrokenRunError
"""The seconds that a cell took, or why it failed."""


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_cell(cell: Cell, store: Store) -> float:
    """Run one cell and store it, unless another process has just done so; the seconds it took.

    Those of a resumed cell are scaled up to all of its work.
    """
    with store.lock(cell):
        if store.state(cell) == "done":
            return 0.0
        unfinished = store.unfinished(cell)
        rest = 1 - cell.share(unfinished)
        start = time.perf_counter()
        curves = cell.run(unfinished)
        seconds = (time.perf_counter() - start) / max(rest, 0.1)
        for name, values in curves.items():
            if not np.all(np.isfinite(values)):
                raise BrokenRunError(f"{cell} gave NaN or infinity in {name}; it was not stored.")
        store.write(cell, curves, seconds)
        shutil.rmtree(unfinished, ignore_errors=True)
    store.log("cell", id=cell.id, cell=str(cell), seconds=round(seconds, 4))
    return seconds


def run(cells: Iterable[Cell], store: Store, workers: int) -> Iterator[tuple[Cell, Outcome]]:
    """Run cells on `workers` processes; each with its outcome as it ends.

    The next cell is taken when a process is free, so `cells` may choose it then.
    """
    return run_here(cells, store) if workers == 1 else run_local(cells, store, workers)


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


def _start_worker(imports: Sequence[str]) -> None:
    threading.Thread(target=_die_with_parent, daemon=True).start()
    for name in imports:
        modules.load(name)


def _die_with_parent() -> None:
    """End this worker when its parent is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
