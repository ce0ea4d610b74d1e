"""The real MNIST is read under its usual names, and refused when a byte is wrong."""

import gzip
import hashlib
import os
import re
import struct
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from delightful.paper.mnist import data

LABELS = "train-labels-idx1-ubyte"
TRAIN = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
TEST = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
Refused = Callable[[Callable[[], object]], str]

pytestmark = pytest.mark.usefixtures("forgetful")


@pytest.fixture
def named(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of links to the files, named by the user."""
    for name in data.SHA256:
        (tmp_path / name).symlink_to(original / name)
    monkeypatch.setenv("DELIGHTFUL_MNIST", str(tmp_path))
    return tmp_path


@pytest.fixture
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: pytest.fail("went online"))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("ran pip"))


def flipped(file: bytes) -> bytes:
    middle = len(file) // 2
    return file[:middle] + bytes([file[middle] ^ 1]) + file[middle + 1 :]


# Reading


@pytest.mark.usefixtures("original")
def test_the_files_hold_the_known_images_and_digits() -> None:
    mnist = data.load()
    for images, labels, counts in ((*mnist[:2], TRAIN), (*mnist[2:], TEST)):
        assert (images.shape, images.dtype) == ((sum(counts), 784), np.uint8)
        assert (labels.shape, labels.dtype) == ((sum(counts),), np.uint8)
        assert np.bincount(labels).tolist() == counts
    assert mnist.train_images.mean() == pytest.approx(33.3184, abs=5e-5)


@pytest.mark.usefixtures("original")
def test_what_was_loaded_makes_the_very_files_again() -> None:
    for name, array in zip(data.SHA256, data.load(), strict=True):
        shaped = array.reshape(-1, 28, 28) if "images" in name else array
        assert hashlib.sha256(data.idx(shaped)).hexdigest() == data.SHA256[name]


@pytest.mark.usefixtures("_offline")
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("dash", ["-idx", ".idx"])
def test_a_named_folder_is_read_under_every_usual_spelling(
    named: Path, original: Path, gzipped: Path, dash: str, suffix: str
) -> None:
    source = gzipped if suffix else original
    for name in data.SHA256:
        (named / name).unlink()
        (named / (name.replace("-idx", dash) + suffix)).symlink_to(source / (name + suffix))
    assert data.fetch() == f"found in {named}"
    assert data.load().val_labels[:5].tolist() == [7, 2, 1, 0, 4]


@pytest.mark.usefixtures("_offline")
@pytest.mark.parametrize("name", data.SHA256)
def test_a_missing_file_is_named_and_not_fetched(named: Path, refused: Refused, name: str) -> None:
    (named / name).unlink()
    for function in (data.load, data.fetch):
        assert f"{named} has no file {name} (or {name}.gz)" in refused(function)
    assert not (named / name).exists()


@pytest.mark.usefixtures("_offline")
@pytest.mark.parametrize(
    ("suffix", "damage", "part"),
    [
        ("", lambda _: b"", "SHA-256 differs"),
        ("", lambda file: file[:-1], "SHA-256 differs"),
        ("", flipped, "SHA-256 differs"),
        (".gz", lambda _: b"", "SHA-256 differs"),
        (".gz", lambda _: b"<html>", "cannot be read"),
        (".gz", lambda file: gzip.compress(file)[:5], "cannot be read"),
        (".gz", lambda file: gzip.compress(file)[:-1], "cannot be read"),
        (".gz", lambda file: flipped(gzip.compress(file)), "cannot be read"),
        (".gz", lambda file: gzip.compress(flipped(file)), "SHA-256 differs"),
    ],
    ids=[
        "empty",
        "cut",
        "flipped",
        "empty-gz",
        "page-gz",
        "head-gz",
        "cut-gz",
        "flipped-gz",
        "other-gz",
    ],
)
def test_a_damaged_file_is_named_and_neither_mended_nor_passed_over(
    named: Path, refused: Refused, suffix: str, damage: Callable[[bytes], bytes], part: str
) -> None:
    damaged = damage((named / LABELS).read_bytes())
    (named / LABELS).unlink()  # the link: what it leads to must not change
    (named / (LABELS + suffix)).write_bytes(damaged)
    for function in (data.load, data.fetch):
        said = refused(function)
        assert said.startswith(str(named / (LABELS + suffix)))
        assert part in said
    assert (named / (LABELS + suffix)).read_bytes() == damaged


def test_a_folder_that_cannot_be_looked_into_is_refused(
    tmp_path: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = str(tmp_path / ("x" * 300))  # too long; so too a folder without permission
    monkeypatch.setenv("DELIGHTFUL_MNIST", nowhere)
    assert nowhere in refused(data.fetch)


_SIZE = st.integers(0, 4)
_SHAPE = st.one_of(st.tuples(_SIZE), st.tuples(_SIZE, _SIZE, _SIZE))


@given(arrays(np.uint8, _SHAPE), st.booleans())
def test_an_idx_file_reads_back_as_its_array(array: np.ndarray, turned: bool) -> None:
    array = array.T if turned else array  # in memory in another order
    file, start = data.idx(array), 4 + 4 * array.ndim
    magic, *shape = struct.unpack(f">{1 + array.ndim}I", file[:start])
    assert (magic, tuple(shape)) == (0x800 + array.ndim, array.shape)
    np.testing.assert_array_equal(np.frombuffer(file[start:], np.uint8).reshape(shape), array)


# The command


def delightful(*arguments: object, **env: str) -> Any:
    return subprocess.run(
        [sys.executable, "-m", "delightful.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        timeout=120,
        check=False,
    )


def sentence(done: Any) -> str:
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"delightful: [^\n]+\.\n", done.stderr), done.stderr
    return str(done.stderr)


def test_the_command_says_where_the_images_are_and_how_many(original: Path) -> None:
    done = delightful("data", "mnist")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"MNIST found in {original}",
        "60000 + 10000 images, every SHA-256 verified",
    ]


def test_the_command_refuses_an_empty_folder(tmp_path: Path) -> None:
    said = sentence(delightful("data", "mnist", DELIGHTFUL_MNIST=str(tmp_path)))
    assert f"{tmp_path} has no file train-images-idx3-ubyte" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("names", "said"),
    [("", "required: dataset"), ("cifar", "'cifar' (choose from"), ("mnist x", "arguments: x")],
)
def test_the_command_knows_only_mnist(names: str, said: str) -> None:
    done = delightful("data", *names.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_run_without_its_images_is_refused_before_any_cell(named: Path, tmp_path: Path) -> None:
    (named / LABELS).unlink()
    (named / LABELS).write_bytes(b"")
    store = tmp_path / "store"
    done = delightful("run", "mnist/curves", "--scale", "smoke", "--store", store)
    assert f"{named / LABELS} is not the original MNIST file" in sentence(done)
    assert list((store / "cells").iterdir()) == []
    assert not (store / "events.jsonl").exists()
