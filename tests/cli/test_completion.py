"""Shell completion, in the shells that are here."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from delightful.cli.commands import COMMANDS
from delightful.paper import EXPERIMENTS
from delightful.registry import METHODS

BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _delightful; printf '%s\\n' "${COMPREPLY[@]}"
"""
FIGURES = [f.id for f in EXPERIMENTS["bandit"].figures]
CASES: list[tuple[str, list[str]]] = [
    ("delightful fi", ["figure"]),
    ("delightful figure bandit/", FIGURES),
    ("delightful figure bandit/curves --sca", ["--scale"]),
    ("delightful figure --scale s", ["smoke"]),
    ("delightful run --method p", [name for name in METHODS if name[0] == "p"]),
    ("delightful claims bandit/fas", ["bandit/faster"]),
    ("delightful export mnist/dep", ["mnist/depth"]),
    ("delightful report mn", ["mnist"]),
    ("delightful bench es", ["estimator"]),
    ("delightful completion f", ["fish"]),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scripts")


@pytest.fixture
def script(delightful: Any, scripts: Path) -> Any:
    def made(shell: str) -> Path:
        file = scripts / shell
        if shutil.which(shell) is None:
            pytest.skip(f"{shell} is not installed")
        if not file.exists():
            done = delightful("completion", shell)
            assert (done.returncode, done.stderr) == (0, "")
            file.write_text(done.stdout)
        return file

    return made


def output(*command: str) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    return [line.split("\t")[0] for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(("line", "found"), CASES)
def test_bash(script: Any, line: str, found: list[str]) -> None:
    assert output("bash", "-c", BASH, "-", str(script("bash")), *line.split()) == found


@pytest.mark.parametrize(("line", "found"), CASES)
def test_fish(script: Any, line: str, found: list[str]) -> None:
    code = f"source {script('fish')}; complete -C '{line}'"
    assert sorted(output("fish", "--no-config", "-c", code)) == sorted(found)


def test_zsh_takes_the_script_of_bash(script: Any) -> None:
    code = f"source {script('zsh')}; whence -w _delightful; print ${{_comps[delightful]}}"
    assert output("zsh", "-f", "-c", code)[0] == "_delightful: function"
    assert output("zsh", "-f", "-c", code)[1]


def test_without_the_lab_commands_and_options_are_completed(delightful: Any) -> None:
    code = "import sys; sys.modules['polars'] = None; import delightful.cli.main as c; c.main()"
    done = delightful("completion", "bash", command=[sys.executable, "-c", code])
    assert (done.returncode, done.stderr) == (0, "")
    assert f'words="{" ".join(COMMANDS)} ' in done.stdout
    assert "--scale" in done.stdout
    assert "bandit" not in done.stdout
