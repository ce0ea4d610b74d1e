"""One process per core, all doing the same task at the same time."""

import contextlib
import multiprocessing
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

from delightful.lab.cells import named


class Workers:
    """Processes that have each built the tasks of a setup, {name: task}."""

    def __init__(self, pipes: list[Connection]) -> None:
        self._pipes = pipes

    def seconds(self, task: str) -> float:
        """How long all of them take for `task`, from the first start to the last end."""
        start = time.perf_counter()
        for pipe in self._pipes:
            pipe.send(task)
        for pipe in self._pipes:
            if pipe.recv() != task:
                raise AssertionError(f"a worker answered out of turn to {task}")
        return time.perf_counter() - start


@contextlib.contextmanager
def workers(count: int, setup: str, *arguments: Any) -> Iterator[Workers]:
    """setup: "module:function" -> {name: task}, called with the arguments in each process."""
    context = multiprocessing.get_context("spawn")  # JAX's threads would not survive a fork
    pairs = [context.Pipe() for _ in range(count)]
    processes = [
        context.Process(target=_work, args=(theirs, setup, *arguments), daemon=True)
        for _, theirs in pairs
    ]
    for process, (_, theirs) in zip(processes, pairs, strict=True):
        process.start()
        theirs.close()  # so that a worker's death reads as the end of the pipe, not as silence
    try:
        yield Workers([ours for ours, _ in pairs])
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _work(pipe: Connection, setup: str, *arguments: Any) -> None:
    tasks: dict[str, Any] = named(setup)(*arguments)
    while True:
        name = pipe.recv()
        tasks[name]()
        pipe.send(name)
