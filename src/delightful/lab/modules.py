"""Modules of the user's own, imported for the methods that they register."""

import importlib.util
import sys
import traceback
from pathlib import Path

from delightful.lab.errors import LabError

LOADED: list[str] = []
"""What has been loaded, in a form that worker processes can load too."""


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


def _load(name: str) -> str:
    file = Path(name)
    if file.suffix != ".py":
        try:
            return importlib.import_module(name).__name__
        except ModuleNotFoundError as error:
            file = Path(f"{name}.py")
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # it is there, and something that it imports is not
    if not file.is_file():
        raise LabError(f"--import takes a module or a file of Python, and {name} is neither.")
    # Under a name that no other module has, whatever the file is called.
    spec = importlib.util.spec_from_file_location(f"imported_{file.stem}", file.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return str(file.resolve())
