"""A run's records for TensorBoard: one file, to which each is added at once.

Not by tensorboardX's SummaryWriter: that writes in a thread, which a full disk ends without a word.
"""

import time
from pathlib import Path
from typing import Any

from delightful.agents.control.training import Record
from delightful.lab.store import cannot_write

SUFFIX = ".delightful"  # other files in the folder are not ours


class Board:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: Any = None

    def add(self, records: list[Record]) -> None:
        """The first time, all that a run has so far: its file of an earlier command is removed."""
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

        self._folder.mkdir(parents=True, exist_ok=True)
        for earlier in self._folder.glob(f"events.out.tfevents.*{SUFFIX}"):
            earlier.unlink()
        return EventsWriter(str(self._folder / "events"), filename_suffix=SUFFIX)
