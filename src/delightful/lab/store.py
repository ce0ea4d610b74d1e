"""The store: a directory in which a finished cell is one Parquet file and one sealed entry.

    cells/<id>.parquet   the curves: seed, step, and one column per metric
    cells/<id>.json      the entry: the cell's key, the file's SHA-256, how long it took, a seal
    unfinished/<id>/     the checkpoints of a cell that can be resumed, until it is finished
    events.jsonl         what happened, one line each
    .id                  random text, by which another machine knows that it sees this store

Files are written under a temporary name, synced and renamed, the entry last: a cell without a
sound entry does not exist, and is run again. A damaged file is named and never read as data.
"""

import contextlib
import dataclasses
import errno
import hashlib
import io
import json
import os
import re
import shlex
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

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


_CELL_EVENT = re.compile(rb'.*"event": "cell", "id": "([0-9a-f]{64})"')
_CLOCK = 2.0  # seconds: the coarsest clock of a file system


class Store:
    """Finished cells in a directory.

    A file is hashed when it is first used, and again only if its size, time of change or inode
    differs.

    Args:
        path: The directory.
        also: Other stores, whose finished cells are read too. Nothing is written there.
    """

    def __init__(self, path: Path | str, also: Sequence[Path | str] = ()) -> None:
        self.path = Path(path)
        self.cells = self.path / "cells"
        self.also = tuple(map(Path, also))
        # By file: size, time of change and inode; and the entry, or the SHA-256 of curves.
        self._known: dict[Path, tuple[tuple[int, int, int], Any]] = {}

    def __reduce__(self) -> tuple[type["Store"], tuple[Path, tuple[Path, ...]]]:
        return Store, (self.path, self.also)  # a worker process gets none of what was found

    def options(self, also: Iterable[Path] | None = None) -> str:
        """The command-line options that name this store, unless it is the default, and others.

        Args:
            also: The other stores; all of this one's by default.

        Returns:
            Such as "--store runs --stored control"; empty for the default store alone.
        """
        words = [("--stored", path) for path in (self.also if also is None else also)]
        if self.path != Path(default_folder()):
            words.insert(0, ("--store", self.path))
        return " ".join(f"{name} {shlex.quote(str(path))}" for name, path in words)

    def prepare(self) -> None:
        """Make the directory, and check that it can be written before any work is done."""
        with writing(self.path):
            self.cells.mkdir(parents=True, exist_ok=True)
            probe = self.cells / f".probe.{os.getpid()}.tmp"
            write_whole(probe, b"x" * 4096)
            probe.unlink()
            for left_over in self.cells.glob(".*.tmp"):  # by a process that was killed
                with contextlib.suppress(FileNotFoundError):  # or renamed by one at work
                    if time.time() - left_over.stat().st_mtime > 3600:
                        left_over.unlink()

    def identity(self) -> tuple[Path, str]:
        """A file with text that no other store has, by which a machine knows that it sees it."""
        path = self.path.absolute() / ".id"
        with writing(path):
            if not path.exists():
                write_whole(path, uuid.uuid4().hex.encode())
            return path, path.read_text()

    def unfinished(self, cell: Cell) -> Path:
        """The folder of the cell's checkpoints."""
        return self.path / "unfinished" / cell.id

    def entry(self, cell: Cell) -> dict[str, Any] | None:
        """The cell's sealed entry, None if it has not been run; raises DamagedError."""
        path = self._folder(cell) / f"{cell.id}.json"

        def parsed() -> dict[str, Any] | None:
            data = self._bytes(path)
            if data is None:
                return None
            found = unsealed(data)
            if found is None or found.get("key") != cell.key:
                raise _damaged(path)
            return found

        found: dict[str, Any] | None = self._once(path, parsed)
        return found

    def _once(self, path: Path, examine: Callable[[], Any]) -> Any:
        """What `examine` returns; what it returned before if the file has not changed since."""
        try:
            file = path.stat()
            stamp = file.st_size, file.st_mtime_ns, file.st_ino
        except OSError:  # which reading it will report
            stamp = 0, 0, 0
        if path in self._known and self._known[path][0] == stamp:
            return self._known[path][1]
        found = examine()
        # A change soon after another one may leave the time of change as it was.
        if time.time() - stamp[1] / 1e9 > _CLOCK:
            self._known[path] = stamp, found
        return found

    def read(self, cell: Cell) -> pl.DataFrame | None:
        """The cell's curves, None if it has not been run; raises DamagedError."""
        if not self._is_sound(cell):
            return None
        return pl.read_parquet(self._bytes(self._folder(cell) / f"{cell.id}.parquet") or b"")

    def _is_sound(self, cell: Cell) -> bool:
        """Whether the cell has been run; raises DamagedError."""
        entry = self.entry(cell)
        if entry is None:
            return False
        path = self._folder(cell) / f"{cell.id}.parquet"
        sha256 = self._once(path, lambda: hashlib.sha256(self._bytes(path) or b"").hexdigest())
        if sha256 != entry["sha256"]:
            raise _damaged(path)
        return True

    def others(self, cells: Iterable[Cell]) -> list[Path]:
        """The other stores that some of these cells come from."""
        folders = {self._folder(cell).parent for cell in cells}
        return [path for path in self.also if path in folders]

    def _folder(self, cell: Cell) -> Path:
        """Where the cell's files are: in this store, unless only another one has them."""
        folders = (self.cells, *(path / "cells" for path in self.also))
        return next((f for f in folders if (f / f"{cell.id}.json").exists()), self.cells)

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
            return "done" if self._is_sound(cell) else "missing"
        except DamagedError:
            return "damaged"

    def damage(self, cell: Cell) -> str | None:
        """A sentence that names the damaged file; None if there is none."""
        try:
            self._is_sound(cell)
        except DamagedError as error:
            return str(error)
        return None

    def damaged(self) -> list[Path]:
        """Every damaged file here and in the other stores, of whichever cells."""
        found = []
        folders = (self.cells, *(path / "cells" for path in self.also))
        for path in (path for folder in folders for path in sorted(folder.glob("*.json"))):
            entry, curves = unsealed(self._bytes(path) or b""), path.with_suffix(".parquet")
            if entry is None or digest(entry.get("key", {})) != path.stem:
                found.append(path)
            elif hashlib.sha256(self._bytes(curves) or b"").hexdigest() != entry.get("sha256"):
                found.append(curves)
        return found

    def write(self, cell: Cell, curves: Curves, seconds: float) -> None:
        """Store a finished cell, with the seconds that it took."""
        table = to_table(cell, curves)
        self.write_parquet(cell, to_parquet(table), table.height, seconds)

    def write_parquet(self, cell: Cell, data: bytes, rows: int, seconds: float) -> None:
        """Store a finished cell as the bytes of its Parquet file, which has so many rows."""
        entry = {
            "key": cell.key,
            "sha256": hashlib.sha256(data).hexdigest(),
            "rows": rows,
            "seconds": round(seconds, 4),
        }
        with writing(self.path):
            write_whole(self.cells / f"{cell.id}.parquet", data)
            write_whole(self.cells / f"{cell.id}.json", sealed(entry))

    def table(self, cells: Iterable[Cell]) -> pl.DataFrame | None:
        """The curves of several cells in one table, None if one is missing or there is none.

        Columns are `seed`, `step`, the metrics, the config's fields, `role` and `varied`. A metric
        with the name of a field, `reward` say, is called `measured_reward`.
        """
        parts = []
        for cell in cells:
            part = self.read(cell)
            if part is None:
                return None
            config = dataclasses.asdict(cell.config)
            part = part.rename({n: f"measured_{n}" for n in config if n in part.columns})
            columns = {name: pl.lit(value) for name, value in config.items()}
            columns |= {"role": pl.lit(cell.role), "varied": pl.lit(" ".join(cell.varied))}
            parts.append(part.with_columns(**columns))
        return pl.concat(parts, how="diagonal") if parts else None

    def lock(self, cell: Cell) -> contextlib.AbstractContextManager[None]:
        """Hold the cell's lock, so that two processes do not run it at the same time."""
        return locked(self.path, _byte(cell))

    @contextlib.contextmanager
    def locks(self) -> Iterator["Locks"]:
        """Hold the locks of several cells at once."""
        with _lock_file(self.path) as file:
            yield Locks(file)

    def run_here(self) -> set[str]:
        """The ids of the cells that events.jsonl tells of: those not copied from elsewhere."""
        try:
            lines = (self.path / "events.jsonl").read_bytes().splitlines()
        except OSError:
            return set()
        return {found[1].decode() for line in lines if (found := _CELL_EVENT.match(line))}

    def log(self, event: str, **facts: Any) -> None:
        """Append one line to events.jsonl; a single write, so that lines never mix."""
        facts = {"time": round(time.time(), 3), "event": event, **facts}
        line = f"{json.dumps(facts)}\n".encode()
        with writing(self.path), open(self.path / "events.jsonl", "ab", buffering=0) as file:
            before = os.fstat(file.fileno()).st_size
            if file.write(line) < len(line):
                file.truncate(before)  # no room for the whole line: leave none of it
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def default_folder() -> str:
    """The results folder of a command that names none."""
    return os.environ.get("DELIGHTFUL_STORE") or "results"


def to_table(cell: Cell, curves: Curves) -> pl.DataFrame:
    """The curves of a cell as a table: seed, step, and a column per metric."""
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
    """The table as the bytes of a Parquet file."""
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


@contextlib.contextmanager
def locked(folder: Path, byte: int = 0, busy: str = "") -> Iterator[None]:
    """Lock one byte of a folder's lock file, until the process ends at the latest.

    Waits for another process that holds it; with `busy`, raises a LabError that says so.
    """
    if fcntl is None:
        yield
        return
    with _lock_file(folder) as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0), 1, byte)
        except OSError as error:
            raise LabError(busy) if busy else cannot_write(folder, error) from None
        yield


class Locks:
    """Locks on cells, held by one process until they are dropped or the process ends.

    All on one open file: when a process closes a lock file, it loses every lock that it has on it.

    Args:
        file: The lock file, open.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def take(self, cell: Cell) -> bool:
        """Lock a cell; False if another process has it."""
        if fcntl is not None:
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(cell))
            except OSError as error:
                if error.errno in (errno.EACCES, errno.EAGAIN):
                    return False
                raise cannot_write(Path(self._file.name), error) from None
        return True

    def drop(self, cell: Cell) -> None:
        """Release a cell."""
        if fcntl is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte(cell))


def _byte(cell: Cell) -> int:
    """The byte of the lock file that stands for a cell."""
    return int(cell.id[:15], 16)


def _lock_file(folder: Path) -> IO[bytes]:
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        return open(folder / ".lock", "a+b")


def sealed(entry: dict[str, Any]) -> bytes:
    """The entry as JSON, with a digest that tells whether it was damaged."""
    return json.dumps({**entry, "seal": digest(entry)}, indent=1, sort_keys=True).encode()


def unsealed(data: bytes) -> dict[str, Any] | None:
    """The entry that `sealed` was given; None if it is damaged."""
    try:
        found: dict[str, Any] = json.loads(data)
        return found if found.pop("seal") == digest(found) else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _damaged(path: Path) -> DamagedError:
    return DamagedError(f"{path} is damaged")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise a LabError that names the path for what cannot be written."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from None


def cannot_write(path: Path, error: OSError) -> LabError:
    """The error for a place that cannot be written, to be raised."""
    return LabError(
        f"cannot write to {path}: {error.strerror}; free some space or give another folder."
    )
