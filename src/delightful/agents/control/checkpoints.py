"""Checkpoints: a run's whole state in a folder, written so that a kill at any moment loses little.

    checkpoint.json               the files that belong to it, their SHA-256, a seal; written last
    state-<chunk>.safetensors     networks, optimisers, reward statistics, the actors' actions
    replay-<a>-<b>.safetensors    the transitions of chunks a to b, kept while the ring holds them

Only new transitions are written each time. A damaged file is named in an error and never read. The
replay buffer of a finished run is kept, so that the run can be extended.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from delightful.agents.control.config import ControlConfig
from delightful.agents.control.rollout import Transitions
from delightful.agents.serialization import from_bytes, to_bytes
from delightful.lab.errors import LabError
from delightful.lab.store import sealed, unsealed, write_whole, writing

VERSION = 3


class CheckpointError(LabError):
    """A checkpoint that cannot be resumed from; its files are left as they are."""


class Checkpoint:
    """The checkpoint of one run, in a folder of its own."""

    def __init__(self, folder: Path, run: Mapping[str, Any], *, extend: bool = False) -> None:
        """Open a folder, which may be empty; `extend` accepts the same run with fewer steps."""
        self.folder, self._run = folder, dict(run)
        entry = read_entry(folder) or {"state": {}, "replay": []}
        self._state = entry["state"]
        self._pieces = entry["replay"]  # the first and last chunk of each, its file and SHA-256
        if self._state:
            self._check_run(entry["run"], extend)

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays and the metadata that were written last; empty if nothing was."""
        return self._loaded(self._state) if self._state else ({}, {})

    def replayed(self) -> Iterator[Transitions]:
        """The transitions that are kept, oldest first."""
        for piece in self._pieces:
            yield Transitions(**self._loaded(piece)[0])

    def write(
        self,
        chunk: int,
        arrays: Mapping[str, np.ndarray],
        metadata: Mapping[str, Any],
        new: Sequence[Transitions],
        oldest: int,
    ) -> None:
        """Replace the checkpoint; `new` are the last chunks, `oldest` the first in replay."""
        pieces = [piece for piece in self._pieces if piece["last"] >= oldest]
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            if new:
                joined = map(np.concatenate, zip(*new, strict=True))
                data = to_bytes(Transitions(*joined)._asdict(), {})
                first, last = chunk - len(new), chunk - 1
                piece = self._write(f"replay-{first:07d}-{last:07d}.safetensors", data)
                pieces.append({"first": first, "last": last, **piece})
            state = self._write(f"state-{chunk:07d}.safetensors", to_bytes(arrays, metadata))
            state["chunk"] = chunk
            entry = {"version": VERSION, "run": self._run, "state": state, "replay": pieces}
            write_whole(self.folder / "checkpoint.json", sealed(entry))
        self._state, self._pieces = state, pieces
        needed = {state["file"], *(piece["file"] for piece in pieces)}
        ours = ("state-*.safetensors", "replay-*.safetensors", ".state-*.tmp", ".replay-*.tmp")
        for path in (path for pattern in ours for path in self.folder.glob(pattern)):
            if path.name not in needed:
                path.unlink(missing_ok=True)

    def _write(self, name: str, data: bytes) -> dict[str, Any]:
        write_whole(self.folder / name, data)
        return {"file": name, "sha256": hashlib.sha256(data).hexdigest()}

    def _check_run(self, stored: Mapping[str, Any], extend: bool) -> None:
        theirs, ours = ({**run, **run["config"], "config": None} for run in (stored, self._run))
        if theirs == ours:
            return
        names = [name for name in theirs if theirs[name] != ours.get(name)]
        if theirs.keys() == ours.keys() and {*names} <= {"steps", "records"}:
            before, now = theirs["steps"], ours["steps"]
            if extend and now > before:
                return
            if now != before:
                raise CheckpointError(
                    f"{self.folder} holds this run over {before:,} steps, not {now:,}: give "
                    f"--steps {before}, or --extend and more steps, or another --out."
                )
        other = ", ".join(f"{name} {theirs[name]}" for name in names[:3]) or "with other fields"
        raise CheckpointError(f"{self.folder} holds another run ({other}): give another --out.")

    def _loaded(self, entry: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        path = self.folder / entry["file"]
        try:
            data = path.read_bytes()
        except OSError as error:
            raise CheckpointError(f"cannot read {path}: {error.strerror}; {_REMEDY}.") from None
        if hashlib.sha256(data).hexdigest() != entry["sha256"]:
            raise _damaged(path)
        return from_bytes(data)


def read_entry(folder: Path) -> dict[str, Any] | None:
    """What checkpoint.json says, None if there is none; CheckpointError if it cannot be used."""
    path = folder / "checkpoint.json"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}.") from None
    found = unsealed(data)
    if found is None:
        raise _damaged(path)
    if found["version"] != VERSION:
        raise CheckpointError(
            f"{path} is of checkpoint version {found['version']}, this is version {VERSION}: "
            "resume with the delightful that wrote it, or give another --out."
        )
    return found


def share(config: ControlConfig, seeds: np.ndarray, folder: Path) -> float:
    """The fraction of these runs that is done, by their checkpoints in a cell's folder."""
    done = 0
    for seed in seeds:
        # Damage is reported when the run is resumed.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            entry = json.loads((folder / str(seed) / "checkpoint.json").read_bytes())
            done += int(entry["state"]["chunk"])
    return done / len(seeds) / config.chunks


_REMEDY = "put the file back, or give another --out to start over"


def _damaged(path: Path) -> CheckpointError:
    return CheckpointError(f"{path} is damaged and was not read: {_REMEDY}.")
