"""A run's records for TensorBoard, in one file."""

from pathlib import Path
from typing import Any

from delightful.lab.store import writing

Record = dict[str, float]

SUFFIX = ".delightful"  # tells our files from others in the folder


class TensorBoard:
    """Writes records as scalars."""

    def __init__(self, folder: Path) -> None:
        import tensorboardX  # noqa: F401 (now, not during a run: it takes a second)

        self._folder = folder
        self._writer: Any = None

    def add(self, records: list[Record]) -> None:
        """Write new records; in the first call, all of the run so far.

        The file of an earlier command is then removed, so that no record is shown twice.
        """
        if self._writer is None:
            from tensorboardX import SummaryWriter

            with writing(self._folder):
                self._folder.mkdir(parents=True, exist_ok=True)
                for earlier in self._folder.glob(f"events.out.tfevents.*{SUFFIX}"):
                    earlier.unlink()
                # Its thread ends when the disk is full: a queue without a bound then blocks nobody.
                self._writer = SummaryWriter(
                    str(self._folder), max_queue=0, flush_secs=10, filename_suffix=SUFFIX
                )
        for record in records:
            for name, value in record.items():
                if name != "step":
                    self._writer.add_scalar(name, value, int(record["step"]))

    def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            with writing(self._folder):
                self._writer.close()
