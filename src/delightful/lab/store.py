"""The store: a directory in which a finished cell is one Parquet file and one sealed entry.

    cells/<id>.parquet   the curves: seed, step, and one column per metric
    cells/<id>.json      the entry: the cell's key, the file's SHA-256, how long it took, a seal
    unfinished/<id>/     what a cell that can be gone on with has left, until it is finished
    events.jsonl         what happened, one line each

Files are written under a temporary name, synced and renamed, the entry last: a cell without a
sound entry does not exist, and is run again. What is damaged is named and never read as data.
"""

import contextlib
import errno
import hashlib
import io
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from delightful.lab.cells import Cell, Curves, digest
from delightful.lab.errors import LabError

try:
    import fcntl
except ImportError:  # Windows: writing is atomic all the same, only work may be done twice
    fcntl = None  # type: ignore[assignment]


class DamagedError(LabError):
    """A stored cell whose bytes are not those that were written."""


class Store:
    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.cells = self.path / "cells"

    def prepare(self) -> None:
        """Make the directory, and make sure that it can be written before any work is done."""
        try:
            self.cells.mkdir(parents=True, exist_ok=True)
            probe = self.cells / f".probe.{os.getpid()}.tmp"
            write_whole(probe, b"x" * 4096)
            probe.unlink()
            for left_over in self.cells.glob(".*.tmp"):  # by a process that was killed
                with contextlib.suppress(FileNotFoundError):  # or renamed by one at work
                    if time.time() - left_over.stat().st_mtime > 3600:
                        left_over.unlink()
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def unfinished(self, cell: Cell) -> Path:
        return self.path / "unfinished" / cell.id

    def entry(self, cell: Cell) -> dict[str, Any] | None:
        """The cell's sealed entry, None if it has not been run; raises DamagedError."""
        path = self.cells / f"{cell.id}.json"
        data = self._bytes(path)
        if data is None:
            return None
        try:
            found = json.loads(data)
            seal = found.pop("seal")
            sound = seal == digest(found) and found["key"] == cell.key
        except (ValueError, KeyError, TypeError, AttributeError):
            sound = False
        if not sound:
            raise DamagedError(f"{path} is damaged; `delightful run` will redo that cell.")
        return dict(found)

    def read(self, cell: Cell) -> pl.DataFrame | None:
        """The cell's curves, None if it has not been run; raises DamagedError."""
        data = self._data(cell)
        return None if data is None else pl.read_parquet(data)

    def _data(self, cell: Cell) -> bytes | None:
        """The Parquet file, if it is there and holds the very bytes that were written."""
        entry = self.entry(cell)
        if entry is None:
            return None
        path = self.cells / f"{cell.id}.parquet"
        data = self._bytes(path) or b""
        if hashlib.sha256(data).hexdigest() != entry["sha256"]:
            raise DamagedError(f"{path} is damaged; `delightful run` will redo that cell.")
        return data

    def _bytes(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LabError(f"cannot read {path}: {error.strerror}; give another --store.") from None

    def state(self, cell: Cell) -> str:
        """ "done", "missing" or "damaged"."""
        try:
            return "missing" if self._data(cell) is None else "done"
        except DamagedError:
            return "damaged"

    def damage(self, cell: Cell) -> str | None:
        """What is damaged, in a sentence that names the file; None if nothing is."""
        try:
            self._data(cell)
        except DamagedError as error:
            return str(error)
        return None

    def write(self, cell: Cell, curves: Curves, seconds: float) -> None:
        data = to_parquet(to_table(cell, curves))
        entry = {
            "key": cell.key,
            "sha256": hashlib.sha256(data).hexdigest(),
            "rows": int(np.size(curves["step"])) * cell.seeds,
            "seconds": round(seconds, 4),
        }
        sealed = json.dumps({**entry, "seal": digest(entry)}, indent=1, sort_keys=True)
        try:
            write_whole(self.cells / f"{cell.id}.parquet", data)
            write_whole(self.cells / f"{cell.id}.json", sealed.encode())
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def table(self, cells: Iterable[Cell]) -> pl.DataFrame | None:
        """All cells' curves in one table, config and roles as columns; None if any is missing.

        A metric that is called like a field of the config, `reward` say, reads `measured_reward`.
        """
        parts = []
        for cell in cells:
            part = self.read(cell)
            if part is None:
                return None
            config = cell.key["config"]
            part = part.rename(
                {name: f"measured_{name}" for name in config if name in part.columns}
            )
            columns = {name: pl.lit(value) for name, value in config.items()}
            columns |= {"role": pl.lit(cell.role), "varied": pl.lit(" ".join(cell.varied))}
            parts.append(part.with_columns(**columns))
        return pl.concat(parts, how="diagonal") if parts else None

    @contextlib.contextmanager
    def lock(self, cell: Cell) -> Iterator[None]:
        """Held while a cell is run, so that two processes never do the same work at once.

        One byte of one file stands for each cell; the system drops it when a process dies.
        """
        if fcntl is None:
            yield
            return
        try:
            file = open(self.path / ".lock", "a+b")  # noqa: SIM115 (closed below, after the work)
            fcntl.lockf(file, fcntl.LOCK_EX, 1, int(cell.id[:15], 16))
        except OSError as error:
            raise cannot_write(self.path, error) from None
        with file:
            yield

    def log(self, event: str, **facts: Any) -> None:
        """Append one line to events.jsonl; a single write, so that lines never mix."""
        line = json.dumps({"time": round(time.time(), 3), "event": event, **facts}) + "\n"
        try:
            handle = os.open(
                self.path / "events.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644
            )
            try:
                before = os.fstat(handle).st_size
                if os.write(handle, line.encode()) < len(line.encode()):
                    os.ftruncate(handle, before)  # no room for the whole line: leave none of it
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(handle)
        except OSError as error:
            raise cannot_write(self.path, error) from None


def to_table(cell: Cell, curves: Curves) -> pl.DataFrame:
    step = np.asarray(curves["step"], dtype=np.int32)
    seeds = np.arange(cell.first_seed, cell.first_seed + cell.seeds, dtype=np.int32)
    columns = {"seed": np.repeat(seeds, step.size), "step": np.tile(step, cell.seeds)}
    for name, values in curves.items():
        if name != "step":
            if values.shape != (cell.seeds, step.size):
                raise AssertionError(f"{cell}: {name} has shape {values.shape}")
            columns[name] = np.asarray(values).ravel()
    return pl.DataFrame(columns)


def to_parquet(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    with contextlib.suppress(OSError, AttributeError):  # no directory handles on Windows
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def cannot_write(path: Path, error: OSError) -> LabError:
    return LabError(
        f"cannot write to {path}: {error.strerror}; free some space or give another folder."
    )
