"""Which package imports which: the contracts of pyproject.toml, and that they find a violation."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import delightful

ROOT = Path(__file__).parent.parent
SOURCE = Path(delightful.__file__).parent
LINT = "from importlinter.cli import lint_imports_command as lint; lint()"


def lint(source: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-c", LINT, "--no-cache", "--no-logo", "--config"]
    return subprocess.run(
        [*command, str(ROOT / "pyproject.toml")],
        env={**os.environ, "PYTHONPATH": str(source.parent), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_package_imports_only_what_it_may() -> None:
    done = lint(SOURCE)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(
    ("module", "imported", "broken"),
    [
        ("lab/errors.py", "delightful.paper", "a package imports only those below it"),
        ("lab/errors.py", "delightful.agents", "a package imports only those below it"),
        ("arrays.py", "delightful.lab.errors", "a package imports only those below it"),
        ("plugins/sb3.py", "delightful.lab.errors", "plug-ins import nothing but the estimator"),
        ("cli/options.py", "delightful.plugins.sb3", "plug-ins are used by"),
        ("lab/errors.py", "delightful.lab.store", "no cycles"),
        ("newcomer.py", "delightful.lab.errors", "a package imports only those below it"),
    ],
)
def test_a_violation_is_found(tmp_path: Path, module: str, imported: str, broken: str) -> None:
    copy = shutil.copytree(SOURCE, tmp_path / "delightful", ignore=shutil.ignore_patterns("*.pyc"))
    with open(copy / module, "a", encoding="utf-8") as file:
        file.write(f"\n\ndef _violation() -> None:\n    import {imported}\n")
    done = lint(copy)
    assert done.returncode == 1
    found = [line for line in done.stdout.splitlines() if " BROKEN" in line]
    assert any(line.startswith(broken) for line in found), done.stdout
