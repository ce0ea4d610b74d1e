"""What Ray adds to a sweep: the same cells on as many local processes, side by side.

Both sides begin with no worker process, as a command does, and end with the last cell in a store
of their own. Ray's nodes run already, as those of a cluster do: one node here, with all cores. What
it takes to connect and to check the nodes is paid once, so the cells take about a minute.
"""

import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from delightful.benchmarks.timing import alternating, median, reached, shown
from delightful.lab.cells import Cell, Curves, Plan, Program
from delightful.lab.cluster import imported, starting_ray
from delightful.lab.runners import LocalRunner, Runner, cores
from delightful.lab.runners.ray import RayRunner
from delightful.lab.store import Store
from delightful.paper.bandit.sweep import ALIGNMENT

GOAL = 1.05  # of the ratio, at most


@dataclass(frozen=True)
class Empty:
    """A config of nothing."""

    number: int

    def check(self) -> None:
        """Anything goes."""


def nothing(_: Empty, seeds: np.ndarray) -> Curves:
    """The cell that takes no time."""
    return {"step": np.zeros(1), "value": np.zeros((len(seeds), 1))}


NOTHING = Program("bench/nothing", 1, "delightful.benchmarks.ray:nothing", 1, 0.0, lambda _: 0.0)


def measure(seeds: int = 20_000, rounds: int = 6, empty: int = 500) -> dict[str, Any]:
    """The ratio with its 95% interval, the time to start, cells per second, and bytes per cell.

    Args:
        seeds: Of each config of bandit/alignment, whose cells both sides run.
        rounds: How often both sides run them.
        empty: The number of empty cells.

    Returns:
        The figures, by name.
    """
    workers = cores()
    cells = ALIGNMENT.cells(Plan("paper", seeds))
    traffic: list[float] = []
    starting: list[float] = []
    with _cluster(workers) as address:

        def on_ray() -> None:
            with RayRunner(address) as runner:
                starting.append(_run(runner, cells))
                traffic.append((runner.sent + runner.received) / len(cells))

        new, old = alternating(on_ray, lambda: _run(LocalRunner(workers), cells), rounds, warm=0)
        with RayRunner(address) as runner:
            _run(runner, _empty(0, 4 * workers))  # starts the workers
            start = time.perf_counter()
            _run(runner, _empty(4 * workers, 4 * workers + empty))
            rate = empty / (time.perf_counter() - start)
    return {
        "workers": workers,
        "cells": len(cells),
        "rounds": rounds,
        "goal": GOAL,
        "local_seconds": float(np.median(old)),
        **median("overhead_ratio", new / old),
        "start_seconds": float(np.median(starting)),
        "empty_cells_per_second": rate,
        "driver_bytes_per_cell": float(np.mean(traffic)),
    }


def describe(figures: dict[str, Any]) -> str:
    """The figures in lines of text."""
    held = f"goal at most {GOAL:g}: {reached(figures, 'overhead_ratio', most=GOAL)}"
    where = f"{figures['cells']} cells on {figures['workers']} workers"
    took = f"local processes take {figures['local_seconds']:.1f} s"
    return "\n".join(
        (
            f"Ray over local processes, wall-clock, {where}",
            f"  overhead     {shown(figures, 'overhead_ratio', 3)}  {took}, {held}",
            f"  start        {figures['start_seconds']:.1f} s to connect and to check the nodes",
            f"  empty cells  {figures['empty_cells_per_second']:.0f} per second",
            f"  driver       {figures['driver_bytes_per_cell']:.0f} bytes per cell, both ways",
        )
    )


@contextmanager
def _cluster(workers: int) -> Iterator[str]:
    """A cluster of one node, which outlives the drivers that connect to it; its address."""
    imported()
    from ray.cluster_utils import Cluster

    logging.getLogger("ray").setLevel(logging.ERROR)

    node = {"num_cpus": workers, "include_dashboard": False, "object_store_memory": 200 * 2**20}
    with starting_ray():
        cluster = Cluster(initialize_head=True, head_node_args=node)
    try:
        yield cluster.address
    finally:
        cluster.shutdown()


def _run(runner: Runner, cells: list[Cell]) -> float:
    """Run the cells; the seconds that the runner took to be ready."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        store.prepare()
        start = time.perf_counter()
        runner.prepare(cells)
        ready = time.perf_counter() - start
        failed = [cell for cell, took in runner.run(cells, store) if not isinstance(took, float)]
        if failed or any(store.state(cell) != "done" for cell in cells):
            raise AssertionError("a cell of the benchmark was not stored")
    return ready


def _empty(first: int, last: int) -> list[Cell]:
    return [Cell(NOTHING, Empty(number), 0, 1) for number in range(first, last)]
