"""The actors as a process of their own: they act while the learner learns.

They answer requests in order. Should the process die it is started again, does again what it had
done since its environments were made, and is asked again: a run's numbers do not change by it.
"""

import contextlib
import multiprocessing
import queue
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from delightful.agents.control import rollout
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.rollout import RESTART, Episodes
from delightful.agents.control.serialization import flatten, nest, pack, unpack
from delightful.agents.control.transitions import CHUNK, Rows
from delightful.lab.errors import LabError
from delightful.lab.signals import deaf_to_ctrl_c

TRIES = 3  # at one request


class ActorProcess:
    """A `collect` or `evaluate` asks; `collected` and `evaluated` wait for the oldest answer."""

    def __init__(
        self, config: ControlConfig, seed: int, chunk: int = 0, history: np.ndarray | None = None
    ) -> None:
        """chunk: the next one to collect; history: actions since the environments were made."""
        self.config, self.seed, self.restarts = config, seed, 0
        self._done = chunk
        self._history = [] if history is None else np.split(history, len(history) // CHUNK or 1)
        self._asked: deque[bytes] = deque()
        self._started()

    @property
    def history(self) -> np.ndarray:
        """Actions since the environments were made, (rows, actors, actions)."""
        nothing = np.zeros((0, self.config.actors, self.actions), np.float32)
        return np.concatenate([nothing, *self._history])

    def collect(self, weights: Mapping[str, Any] | None) -> None:
        facts = {"do": "collect", "random": weights is None}
        self._ask(pack(facts, {} if weights is None else flatten(dict(weights))))

    def collected(self) -> tuple[Rows, Episodes]:
        facts, arrays = self._answer()
        rows = Rows(**arrays)
        self._done += 1
        self._history.append(np.asarray(rows.action))
        if self._done % RESTART == 0:
            self._history = []
        return rows, Episodes(facts["returns"], facts["dropped"])

    def evaluate(self, record: int, weights: Mapping[str, Any]) -> None:
        self._ask(pack({"do": "evaluate", "record": record}, flatten(dict(weights))))

    def evaluated(self) -> dict[str, float]:
        """`deterministic` and `stochastic` returns, and how many episodes were `dropped`."""
        facts, _ = self._answer()
        return facts

    def close(self) -> None:
        self._pipe.close()
        self._process.join(timeout=5)
        self._process.kill()
        self._process.join()

    def __enter__(self) -> "ActorProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        begun = self._done // RESTART * RESTART
        arguments = (theirs, asdict(self.config), self.seed, begun)
        with deaf_to_ctrl_c():
            self._process = context.Process(target=serve, args=arguments, daemon=True)
            self._process.start()
        theirs.close()
        facts, _ = self._received()
        self.observed, self.actions = facts["observed"], facts["actions"]
        self._pipe.send_bytes(pack({}, {"history": self.history}))
        for request in self._asked:
            self._pipe.send_bytes(request)

    def _ask(self, request: bytes) -> None:
        self._asked.append(request)
        with contextlib.suppress(OSError):  # a dead process is met when its answer is missed
            self._pipe.send_bytes(request)

    def _answer(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        for _ in range(TRIES):
            try:
                answer = self._received()
            except (EOFError, OSError):
                self._process.join()
                self.restarts += 1
                print(
                    f"the actors' process died ({_reason(self._process.exitcode)}) "
                    "and was started again; nothing is lost",
                    file=sys.stderr,
                )
                self._started()
                continue
            self._asked.popleft()
            return answer
        raise self._hopeless()

    def _started(self) -> None:
        for _ in range(TRIES):
            with contextlib.suppress(EOFError, OSError):
                self._start()
                return
        raise self._hopeless()

    def _hopeless(self) -> LabError:
        return LabError(
            f"the actors' process of {self.config.task} died {TRIES} times at the same work "
            "(out of memory?); give the same command again to go on from the last checkpoint."
        )

    def _received(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        facts, arrays = unpack(self._pipe.recv_bytes())
        if "error" in facts:
            raise LabError(facts["error"])
        return facts, arrays


def _reason(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def serve(pipe: Connection, config: dict[str, Any], seed: int, chunk: int) -> None:
    """The process: environments, and requests until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        actors = rollout.Actors(ControlConfig(**config), seed, chunk)
        pipe.send_bytes(pack({"observed": actors.observed, "actions": actors.actions}, {}))
        requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(pipe, requests), daemon=True).start()
        history = requests.get()
        if history is not None:
            actors.restore(unpack(history)[1]["history"])
        while (request := requests.get()) is not None:
            pipe.send_bytes(_served(actors, *unpack(request)))
    except (BrokenPipeError, ConnectionResetError):  # the learner has gone
        return
    except LabError as error:
        pipe.send_bytes(pack({"error": str(error)}, {}))
    except Exception as error:
        traceback.print_exc()
        pipe.send_bytes(pack({"error": f"{config['task']} failed: {error!r}."}, {}))


def _listen(pipe: Connection, requests: "queue.SimpleQueue[bytes | None]") -> None:
    """Take requests as they come: were they left in the pipe, two large messages could meet in it,
    and both sides would wait for ever."""
    try:
        while True:
            requests.put(pipe.recv_bytes())
    except (EOFError, OSError):
        requests.put(None)


def _served(actors: rollout.Actors, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    weights = nest(arrays)
    if facts["do"] == "evaluate":
        found = rollout.evaluate(actors.config, actors.seed, facts["record"], weights)
        names = ("deterministic", "stochastic", "dropped")
        return pack(dict(zip(names, found, strict=True)), {})
    rows, episodes = actors.collect(None if facts["random"] else weights)
    return pack(episodes._asdict(), rows._asdict())
