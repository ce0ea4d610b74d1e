"""Checkpoints of the learner, written so that a kill at any moment loses little.

    checkpoint.json              the file that belongs to it, its SHA-256, a seal; written last
    state-<version>.safetensors  the learner's state, older parameters, counts

A damaged file is named in an error and never read.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from delightful.agents.serialization import from_bytes, to_bytes
from delightful.lab.errors import LabError
from delightful.lab.store import sealed, unsealed, write_whole, writing

VERSION = 1
_REMEDY = "put the file back, or give another folder to start over"


class CheckpointError(LabError):
    """A checkpoint that cannot be resumed from; its files are left as they are."""


class Checkpoint:
    """The checkpoint of one run, in a folder of its own."""

    def __init__(self, folder: Path, run: Mapping[str, Any]) -> None:
        """Open a folder, which may be empty; CheckpointError if it holds another run.

        Args:
            folder: where the files are.
            run: what makes it this run, as JSON.
        """
        self.folder, self._run = folder, dict(run)
        self._entry = self._read_entry()

    def read(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """The arrays and facts that were written last; None if nothing was."""
        if self._entry is None:
            return None
        path = self.folder / self._entry["file"]
        data = _bytes(path)
        if data is None or hashlib.sha256(data).hexdigest() != self._entry["sha256"]:
            raise _damaged(path)
        return from_bytes(data)

    def write(
        self, version: int, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]
    ) -> None:
        """Replace the checkpoint.

        Args:
            version: the learner's.
            arrays: its state.
            facts: everything else, as JSON.
        """
        data = to_bytes(arrays, facts)
        name = f"state-{version:07d}.safetensors"
        digest = hashlib.sha256(data).hexdigest()
        entry = {"version": VERSION, "run": self._run, "file": name, "sha256": digest}
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(self.folder / name, data)
            write_whole(self.folder / "checkpoint.json", sealed(entry))
            for pattern in ("state-*.safetensors", ".state-*.tmp"):
                for path in self.folder.glob(pattern):
                    if path.name != name:
                        path.unlink(missing_ok=True)
        self._entry = entry

    def _read_entry(self) -> dict[str, Any] | None:
        path = self.folder / "checkpoint.json"
        data = _bytes(path)
        if data is None:
            return None
        found = unsealed(data)
        if found is None:
            raise _damaged(path)
        theirs = found.get("run")
        if found["version"] != VERSION or not isinstance(theirs, dict):
            raise CheckpointError(f"{path} is of another version: give another folder.")
        if theirs != self._run:
            said = ", ".join(_differences(theirs, self._run)[:3]) or "other fields"
            raise CheckpointError(
                f"{self.folder} holds another run, with {said}: give another folder."
            )
        return found


def _differences(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[str]:
    """In which values two runs differ, such as "steps 20, not 40"; those of a group by their own
    names."""
    found = []
    for name in (name for name in theirs if theirs[name] != ours.get(name)):
        one, other = theirs[name], ours.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            found += _differences(one, other)
        else:
            found.append(f"{name} {one}, not {other}")
    return found


def _bytes(path: Path) -> bytes | None:
    """The file's bytes; None if there is no such file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}; {_REMEDY}.") from None


def _damaged(path: Path) -> CheckpointError:
    return CheckpointError(f"{path} is damaged and was not read: {_REMEDY}.")
