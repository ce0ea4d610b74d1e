"""What a Ray worker does with a cell. It needs nothing of the driver's machine but what Ray sends.

A worker process is used for many cells, so that a program is compiled once in each.
"""

import contextlib
import functools
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from delightful.lab import modules
from delightful.lab.cells import Cell, named
from delightful.lab.cluster import imported
from delightful.lab.compiling import use_threads
from delightful.lab.errors import BrokenRunError
from delightful.lab.nodes import Inspect
from delightful.lab.runners.running import Computed, compute
from delightful.lab.store import locked


class Order(NamedTuple):
    """A cell to be computed."""

    cell: Cell
    folder: Path  # of its checkpoints, if the worker sees the driver's files
    identity: Path  # the file that holds the store's identity
    store: str  # that identity


Reply = tuple[str, Any, str]
"""What it is, "computed", "broken" or "refused"; a Computed or a sentence; the node."""


def worker(inspect: Inspect, ours: Mapping[str, str]) -> Callable[[list[Any], bytes], Reply]:
    """The function that Ray runs.

    Nested, so that Ray sends it by value: a node that joined a moment ago may have another version
    of this package, or none. For the same reason a cell comes as bytes, which are unpickled after
    the check.

    Args:
        inspect: What looks at a node.
        ours: The versions that it must find.

    Returns:
        A function of what all cells share, as references to Ray's object store, and of one cell.
    """
    packages, versions = list(ours), dict(ours)
    checked: list[bool] = []  # in this worker process

    def work(shared: list[Any], order: bytes) -> Reply:
        import platform

        import ray
        from ray import cloudpickle

        node = f"{platform.node()} ({ray.util.get_node_ip_address()})"
        if not checked:
            found = inspect(packages)
            if found != versions:
                return "refused", found, node
            checked.append(True)
        from delightful.lab.runners.remote import serve

        what, content = serve(shared, cloudpickle.loads(order))
        return what, content, node

    return work


def serve(shared: list[Any], order: Order) -> tuple[str, Any]:
    """Compute a cell.

    Args:
        shared: References: first to the user's modules, then of each data set its name and a
            reference to it.
        order: The cell.

    Returns:
        The first two parts of a Reply.
    """
    use_threads()
    for module in _fetched(shared[0]):
        _import(modules.Module(*module))
    for name, data in zip(shared[1::2], shared[2::2], strict=True):
        named(name).give(_fetched(data))  # type: ignore[attr-defined]
    try:
        with _folder(order) as folder:
            return "computed", tuple(compute(order.cell, folder))
    except BrokenRunError as error:
        return "broken", str(error)


@functools.cache
def _fetched(reference: Any) -> Any:
    """What a reference stands for, fetched once in a process."""
    return imported().get(reference)


_import = functools.cache(modules.load_again)


@contextlib.contextmanager
def _folder(order: Order) -> Iterator[Path]:
    """Where the cell keeps its checkpoints: with the store, if this machine sees it."""
    if not order.cell.program.share:
        yield order.folder
        return
    try:
        visible = order.identity.read_text() == order.store
        visible = visible and os.access(order.identity.parent, os.W_OK)
    except OSError:
        visible = False
    if visible:
        with locked(order.folder):  # against a worker that Ray takes for dead, and is not
            yield order.folder
    else:
        with tempfile.TemporaryDirectory(prefix="delightful-") as folder:
            yield Path(folder)


def computed(content: Any) -> Computed:
    """A Computed as it was before it was sent."""
    return Computed(*content)
