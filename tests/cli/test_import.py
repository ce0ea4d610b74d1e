"""Methods of the user's own: `--import`, and the entry points of installed packages."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import delightful as package
from delightful.lab import modules
from delightful.lab.errors import LabError

MINE = """\
from delightful.registry import method

@method("mine", "Mine")
def mine(batch, power: float = 1.0):
    return power * batch.advantage
"""
FIGURE = ("figure", "bandit/curves", "--scale", "smoke", "--seeds", "2", "--workers", "2")
METHODS = ("--method", "pg", "--method", "mine")
SOURCE = str(Path(package.__file__).parents[1])


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder with a module of the user's own."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "my_methods.py").write_text(MINE)
    return folder


def drawn(done: Any, folder: Path) -> None:
    """That the figure and the runs behind it have the method, which two processes ran."""
    assert done.returncode == 0, done.stderr
    assert "2 cells to run, 0 done already" in done.stderr
    assert "on 2 processes" in done.stderr
    (numbers,) = (folder / "figures").glob("*.csv")
    assert {"pg", "mine"} <= set(re.split(r"[,\n]", numbers.read_text()))
    entries = [json.loads(path.read_text()) for path in (folder / "cells").glob("*.json")]
    assert {entry["key"]["config"]["method"] for entry in entries} == {"pg", "mine"}


@pytest.mark.parametrize("how", ["module", "file", "name of a file here"])
def test_a_method_of_an_imported_module_is_run_by_two_workers_and_drawn(
    delightful: Any, mine: Path, tmp_path: Path, how: str
) -> None:
    name, env = "my_methods", {}
    if how == "module":
        env = {"PYTHONPATH": os.pathsep.join([SOURCE, str(mine)])}
    elif how == "file":
        name = os.path.relpath(mine / "my_methods.py", tmp_path / "here")
    else:  # as the installed command has it: the working directory is not on Python's path
        (tmp_path / "here").mkdir()
        (mine / "my_methods.py").rename(tmp_path / "here" / "my_methods.py")
    command = [sys.executable, "-P", "-m", "delightful.cli"]
    arguments = (*FIGURE, "--import", name, *METHODS, "--store", tmp_path / "store")
    drawn(delightful(*arguments, command=command, env=env), tmp_path / "store")


def test_a_method_of_an_installed_package_is_run_by_two_workers_and_drawn(
    delightful: Any, mine: Path, tmp_path: Path
) -> None:
    facts = mine / "my_methods-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: my-methods\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[delightful.methods]\nmine = my_methods\n")
    env = {"PYTHONPATH": os.pathsep.join([SOURCE, str(mine)])}
    done = delightful(*FIGURE, *METHODS, "--store", tmp_path / "store", env=env)
    drawn(done, tmp_path / "store")


def test_what_was_imported_is_part_of_the_command_that_is_shown(
    delightful: Any, mine: Path, tmp_path: Path
) -> None:
    file = mine / "my_methods.py"
    done = delightful("claims", "bandit/faster", "--import", file, *METHODS, "--store", tmp_path)
    assert f"--import {file} --scale quick" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        (None, "no_such_module", "no_such_module is neither"),
        (None, "no/such/file.py", "no/such/file.py is neither"),
        ("1 / 0\n", "my_methods.py", "my_methods.py:1: ZeroDivisionError: division by zero"),
        ("import no_such_thing\n", "my_methods.py", "No module named 'no_such_thing'"),
        ("(\n", "my_methods.py", "SyntaxError"),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_sentence(
    delightful: Any, tmp_path: Path, text: str | None, name: str, said: str
) -> None:
    (tmp_path / "here").mkdir()
    if text is not None:
        (tmp_path / "here" / "my_methods.py").write_text(text)
    done = delightful("run", "bandit", "--import", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"delightful: --import [^\n]*\.\n", done.stderr), done.stderr
    assert said in done.stderr


def test_only_the_named_file_of_the_working_directory_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modules, "LOADED", [])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other_methods.py").write_text("raise AssertionError")
    (tmp_path / "one_methods.py").write_text("import other_methods")
    with pytest.raises(LabError, match="No module named 'other_methods'"):
        modules.load("one_methods")
    (tmp_path / "one_methods.py").write_text("value = 1")
    modules.load("one_methods")
    modules.load("./one_methods.py")
    (found,) = modules.LOADED
    assert found == (str(tmp_path / "one_methods.py"), "value = 1")  # for workers elsewhere
    assert str(tmp_path) not in sys.path


def test_a_file_hides_no_module_of_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modules, "LOADED", [])
    (tmp_path / "json.py").write_text("value = 1")
    modules.load(str(tmp_path / "json.py"))
    assert sys.modules["json"] is json
