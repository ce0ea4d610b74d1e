"""The template of CONTRIBUTING.md is an experiment: copied into the package, it runs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import delightful

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, with the template as the last of its experiments."""
    source = tmp_path_factory.mktemp("src")
    ignored = shutil.ignore_patterns("__pycache__")
    copy = source / "delightful"
    shutil.copytree(Path(delightful.__file__).parent, copy, ignore=ignored)
    shutil.copytree(ROOT / "templates" / "experiment", copy / "paper" / "experiment")
    names = copy / "paper" / "__init__.py"
    text = names.read_text("utf-8")
    assert '"frictions")' in text
    names.write_text(text.replace('"frictions")', '"frictions", "experiment")'), "utf-8")
    return source


def test_a_copy_of_the_template_runs_draws_and_checks(package: Path, tmp_path: Path) -> None:
    def delightful_(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "delightful.cli", *arguments, "--store", str(tmp_path)],
            env={**os.environ, "PYTHONPATH": str(package)},
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    delightful_("run", "experiment", "--scale", "quick", "--workers", "1")
    assert "experiment-error.png" in delightful_("figure", "experiment/error")
    (claim,) = json.loads(delightful_("claims", "experiment", "--json"))["claims"]
    assert claim["seeds"] == 25
    assert claim["verdict"] == "reproduced"
    delightful_("figure", "experiment", "--set", "batch=5", "--method", "awr", "--scale", "smoke")
