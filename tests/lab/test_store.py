"""The store: what is written is read back, and what is damaged is never read at all."""

import contextlib
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import polars as pl
import pytest

import delightful.lab
from delightful.lab import store as module
from delightful.lab.cells import Cell, Plan
from delightful.lab.decisions import decide
from delightful.lab.errors import LabError
from delightful.lab.progress import run_missing
from delightful.lab.store import DamagedError, Store, write_whole
from delightful.paper import EXPERIMENTS
from delightful.paper.bandit.sweep import ALIGNMENT

CELLS = ALIGNMENT.cells(Plan("smoke", seeds=3))[:2]
CELL, OTHER = CELLS


@pytest.fixture(autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    cache = tmp_path_factory.getbasetemp() / "cache"
    with mock.patch.dict(os.environ, XDG_CACHE_HOME=str(cache)):  # running sets more; put it back
        yield


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    run_missing(CELLS, store, 1)
    return store


def parquet(store: Store, cell: Cell = CELL) -> Path:
    return store.cells / f"{cell.id}.parquet"


def entry(store: Store, cell: Cell = CELL) -> Path:
    return store.cells / f"{cell.id}.json"


def hidden(store: Store) -> list[str]:
    return [p.name for p in store.cells.iterdir() if p.name.startswith(".")]


# Writing


def test_curves_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.prepare()
    values = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    store.write(CELL, {"step": np.array([0, 5]), "error": values}, 1.5)
    found = store.read(CELL)
    assert found is not None
    assert found["seed"].to_list() == [0, 0, 1, 1, 2, 2]
    assert found["step"].to_list() == [0, 5] * 3
    assert found["error"].to_numpy().tobytes() == values.tobytes()
    facts = store.entry(CELL)
    assert facts is not None
    assert (facts["key"], facts["rows"], facts["seconds"]) == (CELL.key, 6, 1.5)


def test_a_cell_that_was_never_run_is_missing(tmp_path: Path) -> None:
    store = Store(tmp_path / "nowhere")
    assert (store.read(CELL), store.entry(CELL), store.state(CELL)) == (None, None, "missing")
    assert store.table(CELLS) is None


def test_a_table_has_the_config_as_columns(store: Store) -> None:
    table = store.table(CELLS)
    assert table is not None
    assert table.height == 6
    for cell in CELLS:
        part = table.filter(pl.col("method") == cell.config.method)
        assert {name: part[name].unique().to_list() for name in cell.key["config"]} == {
            name: [value] for name, value in cell.key["config"].items()
        }


def test_a_metric_named_like_a_field_of_the_config_is_kept_as_measured(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.prepare()
    values = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    for cell in CELLS:
        store.write(cell, {"step": np.array([0, 5]), "cosine": values, "batch": -values}, 1.0)
    table = store.table(CELLS)
    assert table is not None
    for cell in CELLS:
        part = table.filter(pl.col("method") == cell.config.method)
        assert part["batch"].to_list() == [cell.config.batch] * 6
        assert part["measured_batch"].to_numpy().tobytes() == (-values).tobytes()
        assert part["cosine"].to_numpy().tobytes() == values.tobytes()
    assert [name for name in table.columns if name.startswith("measured_")] == ["measured_batch"]


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_before_the_entry_leaves_the_cell_missing(
    store: Store, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    whole = parquet(store).read_bytes()
    parquet(store).unlink()
    entry(store).unlink()

    def write_data_only(path: Path, data: bytes) -> None:
        if path.suffix == ".json":
            raise failure
        write_whole(path, data)

    monkeypatch.setattr(module, "write_whole", write_data_only)
    with pytest.raises((LabError, KeyboardInterrupt)):
        store.write(CELL, CELL.run(), 1.0)
    assert parquet(store).read_bytes() == whole
    assert (store.state(CELL), store.read(CELL)) == ("missing", None)


def test_a_file_has_its_name_only_once_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, seen = tmp_path / "file", []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (seen.append(path.exists()), fsync(handle)))
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert seen == [False, True]  # the file is synced before it is renamed, the folder after


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_failed_write_keeps_the_old_file_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, function, mock.Mock(side_effect=OSError(28, "No space left")))
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("file", b"old")]


# Damage


def flip(path: Path, position: int, bits: int = 0x10) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= bits
    path.write_bytes(data)


def truncate(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])


def swap(a: Path, b: Path) -> None:
    data = a.read_bytes(), b.read_bytes()
    b.write_bytes(data[0])
    a.write_bytes(data[1])


def swap_both(store: Store) -> None:
    swap(parquet(store), parquet(store, OTHER))
    swap(entry(store), entry(store, OTHER))


DAMAGE: dict[str, Callable[[Store], object]] = {
    "parquet truncated": lambda s: truncate(parquet(s), 100),
    "parquet empty": lambda s: truncate(parquet(s), 0),
    "parquet gone": lambda s: parquet(s).unlink(),
    "parquet flipped at its start": lambda s: flip(parquet(s), 0),
    "parquet flipped within": lambda s: flip(parquet(s), 60),
    "parquet flipped at its end": lambda s: flip(parquet(s), -1),
    "parquets swapped": lambda s: swap(parquet(s), parquet(s, OTHER)),
    "entry truncated": lambda s: truncate(entry(s), 200),
    "entry empty": lambda s: truncate(entry(s), 0),
    "entry flipped": lambda s: flip(entry(s), 60),
    "entry no object": lambda s: entry(s).write_text("[1]"),
    "entry without a seal": lambda s: entry(s).write_text(json.dumps({"key": CELL.key})),
    "entries swapped": lambda s: swap(entry(s), entry(s, OTHER)),
    "cells swapped": swap_both,
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_named_never_read_and_mended_by_the_next_run(store: Store, kind: str) -> None:
    before = {cell: parquet(store, cell).read_bytes() for cell in CELLS}
    DAMAGE[kind](store)
    hit = entry(store) if kind.startswith(("entr", "cells")) else parquet(store)
    assert store.state(CELL) == "damaged"
    for read in (lambda: store.read(CELL), lambda: store.table(CELLS)):
        with pytest.raises(DamagedError, match="is damaged") as caught:
            read()
        assert str(hit) in str(caught.value)
    assert run_missing(CELLS, store, 1) == (2 if "swapped" in kind else 1)
    assert {cell: parquet(store, cell).read_bytes() for cell in CELLS} == before
    assert run_missing(CELLS, store, 1) == 0


def test_no_flipped_bit_of_a_parquet_file_goes_unseen(store: Store) -> None:
    path = parquet(store)
    for position in range(0, path.stat().st_size, 7):
        flip(path, position, 1 << position % 8)
        assert store.state(CELL) == "damaged", position
        flip(path, position, 1 << position % 8)
    assert store.state(CELL) == "done"


def test_no_flipped_bit_of_an_entry_changes_what_is_read(store: Store) -> None:
    path, sound = entry(store), store.entry(CELL)
    whole = path.read_bytes()
    for position in range(len(whole)):
        for bit in range(8):
            flip(path, position, 1 << bit)
            with contextlib.suppress(DamagedError):
                assert store.entry(CELL) == sound, (position, bit)
            path.write_bytes(whole)


def test_no_truncation_of_an_entry_goes_unseen(store: Store) -> None:
    path = entry(store)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert store.state(CELL) == "damaged", length


def test_a_run_says_which_file_was_damaged(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    flip(parquet(store), 60)
    capsys.readouterr()
    run_missing(CELLS, store, 1)
    assert f"{parquet(store)} is damaged" in capsys.readouterr().err


def test_a_run_says_which_entry_was_damaged(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    flip(entry(store), 60)
    capsys.readouterr()
    run_missing(CELLS, store, 1)
    assert f"{entry(store)} is damaged" in capsys.readouterr().err.replace("\n", "")


def test_brackets_in_the_name_of_a_store_are_only_a_name(tmp_path: Path) -> None:
    store = Store(tmp_path / "a[" / "b]c")  # rich would read [/b] as markup
    run_missing(CELLS, store, 1)
    flip(parquet(store), 60)
    assert run_missing(CELLS, store, 1) == 1


def test_what_a_killed_process_left_behind_is_swept_away(store: Store) -> None:
    for name in (".x.parquet.1.tmp", ".probe.1.tmp"):
        (store.cells / name).write_bytes(b"x")
        os.utime(store.cells / name, (0, 0))
    store.prepare()
    assert hidden(store) == []


def test_another_runs_file_may_vanish_while_the_store_is_swept(store: Store) -> None:
    # Listed, then renamed by the run that wrote it; a dangling link looks the same to stat().
    (store.cells / ".x.parquet.1.tmp").symlink_to("gone")
    store.prepare()


# Hashing


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what is hashed from now on."""
    sizes: list[int] = []
    real = hashlib.sha256

    def sha256(data: bytes) -> object:
        sizes.append(len(data))
        return real(data)

    monkeypatch.setattr(hashlib, "sha256", sha256)
    return sizes


def age(store: Store) -> None:
    """As if all had been written a while ago: a change at once may leave no trace in the clock."""
    for path in store.cells.iterdir():
        os.utime(path, (0, 0))


def test_a_command_hashes_every_file_once(tmp_path: Path, hashed: list[int]) -> None:
    store = Store(tmp_path)
    run_missing(ALIGNMENT.cells(Plan("smoke")), store, 1)
    age(store)
    sizes = [path.stat().st_size for path in store.cells.glob("*.parquet")]
    hashed.clear()
    claims = [c for c in EXPERIMENTS["bandit"].claims if c.sweep is ALIGNMENT]
    assert len(claims) > 1
    decided = [decision for claim in claims for decision in decide(claim, store, Plan("smoke"))]
    assert {decision.verdict for decision in decided} >= {"reproduced"}
    counts = Counter(hashed)
    assert {size: counts[size] for size in sizes} == Counter(sizes)


def test_a_file_that_changes_is_hashed_again(store: Store, hashed: list[int]) -> None:
    age(store)
    assert {store.state(cell) for cell in CELLS} == {"done"}
    hashed.clear()
    assert store.state(CELL) == "done"
    assert hashed == []
    for path in (parquet(store), entry(store)):
        whole = path.read_bytes()
        flip(path, 60)
        assert store.state(CELL) == "damaged"
        with pytest.raises(DamagedError, match=re.escape(str(path))):
            store.read(CELL)
        assert str(path) in (store.damage(CELL) or "")
        path.write_bytes(whole)
        assert store.state(CELL) == "done"
    parquet(store).unlink()
    assert store.state(CELL) == "damaged"
    entry(store).unlink()
    assert store.state(CELL) == "missing"


def test_nothing_stored_is_read_as_code() -> None:
    sources = [p.read_text() for p in Path(delightful.lab.__file__).parent.glob("*.py")]
    for word in ("pickle", "eval(", "exec(", "marshal", "shelve", "np.load"):
        assert not any(word in source for source in sources), word
