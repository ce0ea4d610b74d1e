"""Modules of the user's own, imported for the methods that they register."""

import importlib.abc
import importlib.util
import sys
import traceback
from pathlib import Path
from types import CodeType
from typing import NamedTuple

from delightful.lab.errors import LabError


class Module(NamedTuple):
    """What has been loaded, in a form that other processes can load too."""

    name: str  # of a module, or the path of a file
    source: str | None = None  # of a file, which another machine does not have


LOADED: list[Module] = []
"""What has been loaded."""


def load(name: str) -> None:
    """Import a module, or run a file such as `mine.py` or `mine`; workers will do the same.

    The working directory is not put on Python's path: of it, only the named file is read.
    """
    try:
        found = _load(name)
    except LabError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename}:{last.lineno}"
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise LabError(f"--import {name} failed at {where}: {what}.") from None
    if found not in LOADED:
        LOADED.append(found)


def load_again(module: Module) -> None:
    """Load in another process what was loaded in the first."""
    if module.source is None:
        load(module.name)
    else:
        _run(Path(module.name), module.source)


def _load(name: str) -> Module:
    file = Path(name)
    if file.suffix != ".py":
        try:
            return Module(importlib.import_module(name).__name__)
        except ModuleNotFoundError as error:
            file = Path(f"{name}.py")
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # it is there, and something that it imports is not
    if not file.is_file():
        raise LabError(f"--import takes a module or a file of Python, and {name} is neither.")
    source = importlib.util.decode_source(file.read_bytes())
    _run(file.resolve(), source)
    return Module(str(file.resolve()), source)


class _Source(importlib.abc.InspectLoader):
    """Loads a file of Python from its text, which tracebacks show."""

    def __init__(self, path: Path, source: str) -> None:
        self._path, self._source = path, source

    def get_source(self, _: str) -> str:
        return self._source

    def get_code(self, _: str) -> CodeType:
        return self.source_to_code(self._source, str(self._path))


def _run(path: Path, source: str) -> None:
    # Under a name that no other module has, whatever the file is called.
    name = f"imported_{path.stem}"
    spec = importlib.util.spec_from_loader(name, _Source(path, source), origin=str(path))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__file__ = str(path)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
