"""The `delightful` command, as a process of its own; and a store with a little in it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

RUN = ("run", "bandit/alignment", "--scale", "smoke", "--workers", "1")


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    ours = ("PYTHONUNBUFFERED", "DELIGHTFUL_STORE")  # the former hides a late broken pipe
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, "XDG_CACHE_HOME": str(tmp_path_factory.getbasetemp() / "cache")}


@pytest.fixture
def delightful(environment: dict[str, str], tmp_path: Path) -> Any:
    def run(*arguments: object, env: dict[str, str] | None = None, **options: Any) -> Any:
        """The command, in an empty folder of its own."""
        (tmp_path / "here").mkdir(exist_ok=True)
        command = options.pop("command", [sys.executable, "-m", "delightful.cli"])
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.run(
            [*command, *map(str, arguments)],
            **pipes,
            text=True,
            cwd=tmp_path / "here",
            env={**environment, **(env or {})},
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def store(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A smoke run of one sweep; only to be read."""
    folder = tmp_path_factory.mktemp("cli") / "store"
    command = [sys.executable, "-m", "delightful.cli", *RUN, "--store", str(folder)]
    subprocess.run(command, env=environment, check=True, timeout=120)
    return folder


@pytest.fixture
def as_json() -> Callable[[str], Any]:
    """JSON as every reader takes it: no NaN."""
    return partial(json.loads, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
