"""The actors in a process of their own, so that they act while the learner learns.

It answers requests in order. If it dies it is started again, repeats all actions since its
environments were made, and gets the open requests again: a run's numbers do not change.
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
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from delightful.agents.control.config import ControlConfig
from delightful.agents.control.rollout import RESTART, Actors, Episodes, Transitions, evaluate
from delightful.lab.errors import LabError
from delightful.lab.signals import ignoring_ctrl_c

ATTEMPTS = 3  # at one request


class ActorProcess(contextlib.AbstractContextManager["ActorProcess"]):
    """`collect` and `evaluate` send requests; `collected` and `evaluated` await the oldest one."""

    def __init__(
        self, config: ControlConfig, seed: int, chunk: int = 0, history: np.ndarray | None = None
    ) -> None:
        """Start the process, to collect `chunk` next, after the actions in `history`."""
        self.config, self.seed, self.restarts = config, seed, 0
        self._done = chunk
        self._history = [] if history is None else [history]
        self._asked: deque[tuple[Any, ...]] = deque()
        self._start()

    @property
    def history(self) -> np.ndarray:
        """Actions since the environments were made, (steps, actors, actions)."""
        nothing = np.zeros((0, self.config.actors, self.actions), np.float32)
        return np.concatenate([nothing, *self._history])

    def collect(self, weights: Mapping[str, Any] | None) -> None:
        """Request the next chunk, acted by the policy with these weights; None acts uniformly."""
        self._ask("collect", weights)

    def collected(self) -> tuple[Transitions, Episodes]:
        """The requested chunk, and the episodes that ended in it."""
        transitions, episodes = self._answer()
        self._done += 1
        self._history.append(transitions.action)
        if self._done % RESTART == 0:
            self._history = []
        return transitions, episodes

    def evaluate(self, record: int, weights: Mapping[str, Any]) -> None:
        """Request the evaluation with this number, of the policy with these weights."""
        self._ask("evaluate", record, weights)

    def evaluated(self) -> dict[str, float]:
        """The requested evaluation: `deterministic` and `stochastic` returns, and `dropped`."""
        return dict(self._answer())

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.join(timeout=5)
        self._process.kill()
        self._process.join()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        for _ in range(ATTEMPTS):
            with contextlib.suppress(EOFError, OSError):
                self._pipe, theirs = context.Pipe()
                begun = self._done // RESTART * RESTART
                arguments = (theirs, self.config, self.seed, begun)
                with ignoring_ctrl_c():
                    self._process = context.Process(target=serve, args=arguments, daemon=True)
                    self._process.start()
                theirs.close()
                self.observed, self.actions = self._received()
                for request in (self.history, *self._asked):
                    self._pipe.send(request)
                return
        raise self._failed()

    def _ask(self, *request: Any) -> None:
        self._asked.append(request)
        with contextlib.suppress(OSError):  # a dead process is noticed when its answer is awaited
            self._pipe.send(request)

    def _answer(self) -> Any:
        for _ in range(ATTEMPTS):
            with contextlib.suppress(EOFError, OSError):
                answer = self._received()
                self._asked.popleft()
                return answer
            self._process.join()
            self.restarts += 1
            code = self._process.exitcode or 0
            reason = f"signal {-code}" if code < 0 else f"exit code {code}"
            message = f"the actors' process died ({reason}) and was started again; nothing is lost"
            print(message, file=sys.stderr)
            self._start()
        raise self._failed()

    def _failed(self) -> LabError:
        return LabError(
            f"the actors' process of {self.config.task} died {ATTEMPTS} times at the same request "
            "(out of memory?); give the same command again to resume from the last checkpoint."
        )

    def _received(self) -> Any:
        answer = self._pipe.recv()
        if isinstance(answer, LabError):
            raise answer
        return answer


def serve(pipe: Connection, config: ControlConfig, seed: int, chunk: int) -> None:
    """Repeat the actions that are sent first, then serve requests until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        actors = Actors(config, seed, chunk)
        pipe.send((actors.observed, actors.actions))
        requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(pipe, requests), daemon=True).start()
        history = requests.get()
        if history is not None:
            actors.restore(history)
        while (request := requests.get()) is not None:
            do, *given = request
            pipe.send(actors.collect(*given) if do == "collect" else evaluate(config, seed, *given))
    except (BrokenPipeError, ConnectionResetError):  # the learner's process has ended
        return
    except LabError as error:
        pipe.send(error)
    except Exception as error:
        traceback.print_exc()
        pipe.send(LabError(f"{config.task} failed: {error!r}."))


def _listen(pipe: Connection, requests: "queue.SimpleQueue[Any]") -> None:
    """Empty the pipe at once: if both sides sent a large message and neither read, both would block
    for ever."""
    try:
        while True:
            requests.put(pipe.recv())
    except (EOFError, OSError):
        requests.put(None)
