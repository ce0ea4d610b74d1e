"""A run's records for TensorBoard: one file, to which each is added at once.

Not by tensorboardX's SummaryWriter: that writes in a thread, which a full disk ends without a word.
"""

import shutil
import time
from pathlib import Path
from typing import Any

from delightful.experiments.control.training import Record
from delightful.lab.store import cannot_write


class Board:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: Any = None

    def add(self, records: list[Record]) -> None:
        """The first time, all that a run has so far: what an earlier command left is removed."""
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.proto.summary_pb2 import Summary

        try:
            if self._file is None:
                self._file = self._new()
            for record in records:
                values = [
                    Summary.Value(tag=name, simple_value=value)
                    for name, value in record.items()
                    if name != "step"
                ]
                step, now = int(record["step"]), time.time()
                self._file.write_event(
                    Event(step=step, wall_time=now, summary=Summary(value=values))
                )
            self._file.flush()
        except OSError as error:
            raise cannot_write(self._folder, error) from None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _new(self) -> Any:
        from tensorboardX.event_file_writer import EventsWriter

        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        return EventsWriter(str(self._folder / "events"))
