"""Checkpoints: a run's whole state in a folder, written so that a kill at any moment loses little.

    checkpoint.json          which files make it up, their SHA-256, and a seal; written last
    state-<chunk>.bin        networks, optimisers, normaliser, what the actors did
    replay-<a>-<b>.bin       the rows of chunks a to b; old ones are kept while the ring holds them

Only new rows are written each time. A file that is not what was written is named, never read.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from delightful.agents.control.config import ControlConfig
from delightful.agents.control.serialization import pack, unpack
from delightful.lab.cells import digest
from delightful.lab.errors import LabError
from delightful.lab.store import cannot_write, write_whole

VERSION = 1


class CheckpointError(LabError):
    """A checkpoint that cannot be gone on from; its files are left as they are."""


class Checkpoint:
    """The folder of one run; `run` says, as JSON, which run it is."""

    def __init__(self, folder: Path, run: Mapping[str, Any]) -> None:
        self.folder, self._run = folder, dict(run)
        self._pieces: list[dict[str, Any]] = []  # of replay: first and last chunk, file, SHA-256
        self._state: dict[str, Any] = {}
        self._read()

    @property
    def exists(self) -> bool:
        return bool(self._state)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return self._unpacked(self._state)

    def replayed(self) -> Iterator[dict[str, np.ndarray]]:
        """The rows that are kept, oldest first."""
        for piece in self._pieces:
            yield self._unpacked(piece)[1]

    def write(
        self,
        chunk: int,
        facts: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray],
        new: Sequence[Any],
        oldest: int,
    ) -> None:
        """The state after `chunk` chunks, of which `new` are not yet written: named tuples of rows.

        oldest: the first chunk that the ring still holds.
        """
        pieces = [piece for piece in self._pieces if piece["last"] >= oldest]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if new:
                joined = {
                    name: np.concatenate([getattr(rows, name) for rows in new])
                    for name in new[0]._fields
                }
                first, last = chunk - len(new), chunk - 1
                piece = self._write(f"replay-{first:07d}-{last:07d}.bin", pack({}, joined))
                pieces.append({"first": first, "last": last, **piece})
            state = self._write(f"state-{chunk:07d}.bin", pack(facts, arrays))
            state["chunk"] = chunk
            entry = {"version": VERSION, "run": self._run, "state": state, "replay": pieces}
            sealed = json.dumps({**entry, "seal": digest(entry)}, indent=1)
            write_whole(self.folder / "checkpoint.json", sealed.encode())
        except OSError as error:
            raise cannot_write(self.folder, error) from None
        self._state, self._pieces = state, pieces
        self._sweep()

    def _write(self, name: str, data: bytes) -> dict[str, Any]:
        write_whole(self.folder / name, data)
        return {"file": name, "sha256": hashlib.sha256(data).hexdigest()}

    def _sweep(self) -> None:
        """Remove what this checkpoint no longer needs."""
        needed = {self._state["file"], *(piece["file"] for piece in self._pieces)}
        for pattern in ("state-*.bin", "replay-*.bin", ".state-*.tmp", ".replay-*.tmp"):
            for path in self.folder.glob(pattern):
                if path.name not in needed:
                    path.unlink(missing_ok=True)

    def _read(self) -> None:
        path = self.folder / "checkpoint.json"
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise CheckpointError(f"cannot read {path}: {error.strerror}.") from None
        try:
            found = json.loads(data)
            sound = found.pop("seal") == digest(found)
        except (ValueError, KeyError, TypeError, AttributeError):
            sound = False
        if not sound:
            raise _damaged(path)
        if found["version"] != VERSION:
            raise CheckpointError(
                f"{path} is of checkpoint version {found['version']}, this is version {VERSION}: "
                "go on with the delightful that wrote it, or give another --out."
            )
        if found["run"] != self._run:
            raise CheckpointError(
                f"{self.folder} holds another run ({_differences(found['run'], self._run)}): "
                "give another --out."
            )
        self._state, self._pieces = found["state"], found["replay"]

    def _unpacked(self, entry: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        path = self.folder / entry["file"]
        try:
            data = path.read_bytes()
        except OSError as error:
            raise CheckpointError(f"cannot read {path}: {error.strerror}; {_REMEDY}.") from None
        if hashlib.sha256(data).hexdigest() != entry["sha256"]:
            raise _damaged(path)
        return unpack(data)


def share(config: ControlConfig, seeds: np.ndarray, folder: Path) -> float:
    """How much of these runs has been done, by their checkpoints in a cell's folder."""
    done = [_chunks(folder / str(seed) / "checkpoint.json") for seed in seeds]
    return sum(done) / len(done) / config.chunks


def _chunks(path: Path) -> int:
    """Enough to say how far a run is: what is damaged is found when it is gone on with."""
    try:
        return int(json.loads(path.read_bytes())["state"]["chunk"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


_REMEDY = "put the file back, or give another --out to begin anew"


def _damaged(path: Path) -> CheckpointError:
    return CheckpointError(f"{path} is damaged and was not read: {_REMEDY}.")


def _differences(theirs: Mapping[str, Any], ours: Mapping[str, Any], limit: int = 3) -> str:
    flat = [{**run, **run.get("config", {})} for run in (theirs, ours)]
    names = [n for n in flat[0] if n != "config" and flat[0][n] != flat[1].get(n)]
    return ", ".join(f"{name} {flat[0][name]}" for name in names[:limit]) or "with other fields"
