"""A run's log: a JSON line per step, and TensorBoard's file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from delightful.agents.actor_learner.training import Record
from delightful.agents.tensorboard import TensorBoard
from delightful.lab.store import write_whole, writing

POINTS = 200  # of a curve in TensorBoard: each is the mean of the steps since the last


class Log:
    """log.jsonl and tensorboard/ in a run's folder."""

    def __init__(self, folder: Path, steps: int) -> None:
        """Nothing is written before the first record.

        Args:
            folder: the run's.
            steps: of the whole run.
        """
        self._path = folder / "log.jsonl"
        self._tensorboard = TensorBoard(folder / "tensorboard")
        self._every = max(1, steps // POINTS)
        self._file: Any = None
        self._since: list[Record] = []

    def add(self, record: Record) -> None:
        """Append a step. The first one replaces what a killed run logged after its checkpoint."""
        if self._file is None:
            earlier = [one for one in self._logged() if one["step"] < record["step"]]
            with writing(self._path):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(self._path, b"".join(map(_line, earlier)))
                self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115 (see close)
            for one in earlier:
                self._summarise(one)
        with writing(self._path):
            self._file.write(_line(record))
        self._summarise(record)

    def close(self) -> None:
        """Write what is left."""
        if self._file is not None:
            self._file.close()
        self._tensorboard.close()

    def _summarise(self, record: Record) -> None:
        self._since.append(record)
        if record["step"] % self._every == 0:
            names = {name for one in self._since for name in one}
            means = {n: float(np.mean([one[n] for one in self._since if n in one])) for n in names}
            self._tensorboard.add([{**means, "step": record["step"]}])
            self._since = []

    def _logged(self) -> Iterator[Record]:
        if not self._path.exists():
            return
        for line in self._path.read_bytes().splitlines():
            try:
                yield json.loads(line)
            except ValueError:  # the last line of a run that was killed
                return


def _line(record: Record) -> bytes:
    return f"{json.dumps(record)}\n".encode()
