"""`delightful doctor`: what is installed, what works, and what to do about the rest.

Extras are judged by the installed versions of what they require, since importing all of it takes
half a minute. OpenGL is tried in a process of its own.
"""

import os
import platform
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from importlib import metadata
from typing import TYPE_CHECKING, NamedTuple

from packaging.requirements import Requirement

from delightful import __version__
from delightful.cli.printing import print_json, wrapped
from delightful.lab.compiling import cache_folder, threads
from delightful.lab.errors import LabError, install

if TYPE_CHECKING:
    from delightful.lab.store import Store

_US = "delightful-rl"
_DRAW = "import mujoco; mujoco.GLContext(16, 16).make_current(); print('drawn', flush=True)"


MOST_NAMED = 3  # damaged files


class Check(NamedTuple):
    """Something that works or not, what was found, and what to do."""

    name: str
    works: bool
    found: str
    advice: str = ""


def run(options: Namespace) -> None:
    python = f"{platform.python_version()} ({sys.executable})"
    packages, checks = _packages(), [*_extras(), *_machine(options)]
    if options.json:
        about = {"delightful": __version__, "python": python, "packages": packages}
        print_json({**about, "checks": [check._asdict() for check in checks]})
        return
    print(f"delightful {__version__}, Python {python}")
    installed = ", ".join(f"{name} {version}" for name, version in packages.items() if version)
    print(wrapped("installed: ", installed, 2))
    print(wrapped("", "what works (extras: by the versions installed, none is imported):"))
    for name, works, text, advice in checks:
        print(wrapped(f"  {'✓' if works else '✗'} {name}: ", text, 6))
        if advice:
            print(wrapped("      → ", advice))


def _packages() -> dict[str, str | None]:
    """The packages that we or an extra of ours require, with their versions."""
    names = sorted({requirement.name for requirement in _requirements()} - {_US})
    return {name: _version(name) for name in names}


def _requirements() -> list[Requirement]:
    return [Requirement(text) for text in metadata.requires(_US) or ()] if _version(_US) else []


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _extras() -> Iterator[Check]:
    if _version(_US) is None:
        found = f"{_US} is on Python's path but not installed: what it needs is not known"
        yield Check("extras", False, found, "pip install --editable . in its folder")
        return
    for extra in sorted(metadata.metadata(_US).get_all("Provides-Extra") or ()):
        lacking = list(dict.fromkeys(_lacking(extra)))
        advice = install(extra) if lacking else ""
        yield Check(f"extra {extra}", not lacking, ", ".join(lacking) or "installed", advice)


def _lacking(extra: str) -> Iterator[str]:
    """What keeps an extra from working."""
    for requirement in _requirements():
        if requirement.marker is None or not requirement.marker.evaluate({"extra": extra}):
            continue
        version = _version(requirement.name)
        if requirement.name == _US:
            for part in sorted(requirement.extras):
                yield from _lacking(part)
        elif version is None:
            yield f"{requirement.name} is not installed"
        elif not requirement.specifier.contains(version, prereleases=True):
            yield f"{requirement.name} is {version}, not {requirement.specifier}"


def _machine(options: Namespace) -> Iterator[Check]:
    cache = cache_folder()
    size = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
    yield Check("cache", True, f"{size / 1e6:.0f} MB in {cache}")
    try:
        from delightful.cli.options import store_of
        from delightful.lab.runners import cores
        from delightful.paper.mnist import data
    except ModuleNotFoundError as error:
        yield Check("lab", False, f"{error.name} is not installed", install("lab"))
        return
    yield Check("cores", True, f"{cores()}, {threads()} thread for each process of a sweep")
    store = store_of(options)
    yield _store(store)
    folder = data.folder()
    if folder.exists():
        try:
            data.read(folder)
            yield Check("MNIST", True, f"verified, in {folder}")
        except LabError as error:
            advice = "mend or delete that folder, then give `delightful data mnist`"
            yield Check("MNIST", False, str(error).rstrip("."), advice)
    else:
        yield Check("MNIST", False, f"not in {folder}", "`delightful data mnist` fetches it")
    yield _opengl()


def _store(store: "Store") -> Check:
    """The cells of a store, every file of which is read."""
    found, damaged = (
        f"{len(list(store.cells.glob('*.json')))} cells in {store.path}",
        store.damaged(),
    )
    if not damaged:
        return Check("store", True, found)
    files = ", ".join(map(str, damaged[:MOST_NAMED]))
    more = f" and {len(damaged) - MOST_NAMED} more" if len(damaged) > MOST_NAMED else ""
    advice = f"`{' '.join(filter(None, ('delightful list', store.options())))}` names the command"
    found += f"; damaged: {files}{more}"
    return Check("store", False, found, f"{advice} that runs it again")


def _opengl() -> Check:
    if _version("mujoco") is None:
        return Check("rendering", False, "mujoco is not installed", install("control"))
    kind = os.environ.get("MUJOCO_GL", "").replace("disabled", "") or "egl"  # as --render has it
    done = subprocess.run(
        [sys.executable, "-P", "-c", _DRAW],  # -P: nothing of the working directory is run
        env={**os.environ, "MUJOCO_GL": kind},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if "drawn" in done.stdout:  # EGL's own clean-up may crash after it
        return Check("rendering", True, f"MuJoCo draws with MUJOCO_GL={kind}")
    said = (done.stderr.strip().splitlines() or [f"its process ended with {done.returncode}"])[-1]
    advice = "apt-get install libegl1 libgl1; or set MUJOCO_GL=osmesa, with libosmesa6"
    return Check("rendering", False, said, advice)
