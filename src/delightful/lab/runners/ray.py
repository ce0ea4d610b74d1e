"""The runner on Ray: cells as tasks of one core each; the driver alone writes the store.

Workers send back bytes, so that nodes need no file system in common. A cell whose worker or node
is lost runs again elsewhere.
"""

import contextlib
import itertools
import queue
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any

from delightful.lab import modules
from delightful.lab.cells import Cell, named
from delightful.lab.cluster import ONE_THREAD, Cluster, connected, imported
from delightful.lab.compiling import use_threads
from delightful.lab.errors import BrokenRunError, LabError
from delightful.lab.nodes import ALWAYS, check, difference, expected, inspector
from delightful.lab.runners.local import POLL, cores
from delightful.lab.runners.remote import Order, Reply, computed, worker
from delightful.lab.runners.running import Outcome, keep
from delightful.lab.store import Locks, Store

MOST_IN_FLIGHT = 2000  # tasks that Ray knows of; enough for an autoscaler to see what is wanted
MOST_LOSSES = 8  # of workers by one cell, which may be the reason
PATIENCE = 60.0  # seconds without any node, before a run is given up
_MINUTE = 60.0


class RayRunner:
    """Runs cells on a Ray cluster; to be used as a context manager.

    Args:
        address: As `ray.init` takes it; None for $RAY_ADDRESS or else a local Ray.
        workers: At most so many cells at a time; None for all cores.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        imported()  # or an error, before anything else is done
        self._address, self._workers = address, workers
        self._cluster: Cluster | None = None
        self._connection = contextlib.ExitStack()
        self._data: dict[str, Any] = {}  # references to data sets, by name
        self._finished: deque[float] = deque()  # when, in the last minute
        self.retries = 0
        self.sent = self.received = 0  # bytes of cells and of results

    def __enter__(self) -> "RayRunner":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()
        self._cluster = None

    @property
    def cluster(self) -> Cluster:
        """The cluster, connected to when it is first asked for."""
        if self._cluster is None:
            use_threads()
            connection = connected(self._address, self._workers or cores())
            self._cluster = self._connection.enter_context(connection)
        return self._cluster

    def prepare(self, cells: Sequence[Cell]) -> None:
        """Connect, check every node, and put the cells' data sets into the object store."""
        imports = [module.name for module in modules.LOADED if module.source is None]
        needs = dict.fromkeys(name for cell in cells for name in cell.needs)
        ours = expected([*ALWAYS, *needs, *imports])
        check(self.cluster, ours)
        ray = imported()
        for prepare in {cell.program.prepare for cell in cells} - {""}:
            named(prepare)()
        for name in {cell.program.data for cell in cells} - {"", *self._data}:
            self._data[name] = ray.put(named(name)())
        self._ours = ours
        remote = ray.remote(num_cpus=1, max_retries=0, runtime_env=ONE_THREAD)
        self._task = remote(worker(inspector(), ours))
        pairs = itertools.chain.from_iterable(self._data.items())
        self._shared = [ray.put([tuple(module) for module in modules.LOADED]), *pairs]

    @property
    def slots(self) -> int:
        """The cores of all nodes, at most the number of workers."""
        have = self.cluster.cores()
        return max(1, min(have, self._workers or have))

    def place(self, _: int) -> str:
        """Nodes and cores, in words."""
        nodes = self.cluster.nodes()
        return f"{sum(n.cores for n in nodes)} cores of {_count(len(nodes), 'Ray node')}"

    def status(self) -> str:
        """Nodes, cores, speed and retries, in words."""
        while self._finished and self._finished[0] < time.monotonic() - _MINUTE:
            self._finished.popleft()
        speed = f"{len(self._finished)} cells in the last minute"
        return f"{self.place(0)}, {speed}, {_count(self.retries, 'retry')}"

    def run(self, cells: Iterable[Cell], store: Store) -> Iterator[tuple[Cell, Outcome]]:
        """Run cells; see `Runner`.

        A list is given to Ray at once, as far as it takes it, so that an autoscaler sees how many
        cores can be used; of an iterator, one cell more than there are slots. Never are more cells
        with Ray than there are workers, if their number is given.
        """
        with store.locks() as locks:
            yield from _Run(self, cells, store, locks)


class _Run:
    """The cells of one call of `run`: those under way, and those that another driver runs."""

    def __init__(
        self,
        runner: RayRunner,
        cells: Iterable[Cell],
        store: Store,
        locks: Locks,
    ) -> None:
        self._runner, self._store, self._locks = runner, store, locks
        self._waiting, self._all_at_once = iter(cells), isinstance(cells, Sized)
        self._elsewhere: deque[Cell] = deque()
        self._running: dict[Future[Reply], Cell] = {}
        self._ended: queue.SimpleQueue[Future[Reply]] = queue.SimpleQueue()
        self._losses: Counter[str] = Counter()
        self._last_node = time.monotonic()

    def __iter__(self) -> Iterator[tuple[Cell, Outcome]]:
        while True:
            yield from self._start()
            if not self._running and not self._elsewhere:
                return
            self._check_nodes()
            with contextlib.suppress(queue.Empty):
                future = self._ended.get(timeout=POLL)
                cell = self._running.pop(future)
                outcome = self._outcome(cell, future)
                if outcome is not None:
                    self._runner._finished.append(time.monotonic())
                    self._locks.drop(cell)
                    yield cell, outcome

    def _start(self) -> Iterator[tuple[Cell, Outcome]]:
        """Give cells to Ray; those that another driver has just done are done."""
        room = self._room() - len(self._running)
        again = [self._elsewhere.popleft() for _ in range(len(self._elsewhere))]
        for cell in itertools.chain(again, itertools.islice(self._waiting, max(0, room))):
            if not self._locks.take(cell):
                self._elsewhere.append(cell)
            elif self._store.state(cell) == "done":
                self._locks.drop(cell)
                yield cell, 0.0
            else:
                self._submit(cell)

    def _room(self) -> int:
        """How many cells Ray may know of: also those that have no core yet, for an autoscaler."""
        most = MOST_IN_FLIGHT if self._all_at_once else self._runner.slots + 1
        return min(most, self._runner._workers or most)

    def _submit(self, cell: Cell) -> None:
        from ray import cloudpickle

        folder = self._store.unfinished(cell).absolute()
        resumes = bool(cell.program.share)
        identity = self._store.identity() if resumes else (Path(), "")
        order = cloudpickle.dumps(Order(cell, folder, *identity))
        self._runner.sent += len(order)
        future: Future[Reply] = self._runner._task.remote(self._runner._shared, order).future()
        self._running[future] = cell
        future.add_done_callback(self._ended.put)

    def _outcome(self, cell: Cell, future: Future[Reply]) -> Outcome | None:
        """What became of a cell; None if it runs again, because its worker was lost."""
        errors = imported().exceptions
        lost = (
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.ObjectLostError,
            errors.OutOfMemoryError,
            errors.LocalRayletDiedError,
        )
        try:
            what, content, node = future.result()
        except lost as error:
            return self._again(cell, type(error).__name__)
        except errors.RayTaskError as error:
            raise error.cause from None if isinstance(error.cause, LabError) else error
        except errors.RayError as error:
            raise LabError(f"Ray failed: {' '.join(str(error).split())}") from None
        if what == "refused":
            sentence = difference(node, content, self._runner._ours).rstrip(".")
            raise LabError(f"{sentence}; finished cells are kept.")
        if what == "broken":
            return BrokenRunError(content)
        done = computed(content)
        self._runner.received += len(done.parquet)
        return keep(cell, done, self._store, node=node)

    def _again(self, cell: Cell, reason: str) -> Outcome | None:
        self._runner.retries += 1
        self._losses[cell.id] += reason != "NodeDiedError"  # which is not the cell's fault
        self._store.log("retry", id=cell.id, cell=str(cell), reason=reason)
        if self._losses[cell.id] >= MOST_LOSSES:
            times = f"{self._losses[cell.id]} times (out of memory?)"
            return BrokenRunError(f"{cell} lost its worker {times}; it was not stored.")
        self._submit(cell)
        return None

    def _check_nodes(self) -> None:
        """Give up if no node is left, and none will come."""
        cluster = self._runner.cluster
        if cluster.nodes():
            self._last_node = time.monotonic()
        elif time.monotonic() - self._last_node > PATIENCE and not cluster.grows():
            raise LabError(
                "no node of the Ray cluster is left to run cells on; finished cells are kept: "
                "give the same command again when there is one."
            )


def _count(number: int, what: str) -> str:
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number} {what if number == 1 else plural}"
