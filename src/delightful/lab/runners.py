"""Runners: cells in, finished cells in the store. In this process, or over local processes.

Every runner calls `run_cell`, so all of them store the same bytes; what differs is where it runs.
A runner yields each cell as it is finished or broken, in no particular order.
"""

import concurrent.futures
import multiprocessing
import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any

import numpy as np

from delightful.lab.cells import Cell
from delightful.lab.compiling import use_threads
from delightful.lab.errors import BrokenRunError, LabError
from delightful.lab.signals import deaf_to_ctrl_c
from delightful.lab.store import Store

HEARING = 0.5  # seconds until a Ctrl-C is heard

Outcome = float | BrokenRunError
"""The seconds that a cell took, or why it came to nothing."""


def cores() -> int:
    """How many this process may use, where the system can tell."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_cell(cell: Cell, store: Store) -> float:
    """Run one cell unless another process has just done so; the seconds it took, 0 if none.

    What an earlier process did of it is reckoned at the same pace, lest estimates be too small.
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


def run_here(cells: Sequence[Cell], store: Store) -> Iterator[tuple[Cell, Outcome]]:
    """One after the other, in this process."""
    use_threads()
    for cell in cells:
        yield cell, _outcome(cell, store)


def run_local(cells: Sequence[Cell], store: Store, workers: int) -> Iterator[tuple[Cell, Outcome]]:
    """Over `workers` processes of this machine, each single-threaded."""
    use_threads()  # inherited by the workers, before they import jax
    # JAX and polars have threads of their own, and a forked copy of them would hang.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(cells)), context, initializer=_start_worker)
    try:
        with deaf_to_ctrl_c():  # so that workers are, from birth: the parent alone decides
            futures = {pool.submit(_outcome, cell, store): cell for cell in cells}
        for future in _as_completed(set(futures)):
            yield futures[future], future.result()
    except BrokenProcessPool:
        raise LabError(
            "a worker process was killed (out of memory?); finished cells are kept: "
            "give the same command again, perhaps with fewer --workers."
        ) from None
    finally:
        processes = list((pool._processes or {}).values())  # shutdown forgets them
        manager: Any = pool._executor_manager_thread
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()
        if manager is not None:  # still at work when Python ends, it would write to a closed pipe
            manager.join(timeout=5)


def _outcome(cell: Cell, store: Store) -> Outcome:
    try:
        return run_cell(cell, store)
    except BrokenRunError as error:
        return error


def _as_completed(running: set[Future[Outcome]]) -> Iterator[Future[Outcome]]:
    """Futures as they are done. Waiting without an end would not hear a Ctrl-C before the next one
    is: polars' signal handler has waits go on after it, and Python's own comes only then."""
    while running:
        done, running = concurrent.futures.wait(running, HEARING, FIRST_COMPLETED)
        yield from done


def run(cells: Sequence[Cell], store: Store, workers: int) -> Iterator[tuple[Cell, Outcome]]:
    return run_here(cells, store) if workers == 1 else run_local(cells, store, workers)


def _start_worker() -> None:
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    """A worker must not outlive a parent that was killed outright."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
