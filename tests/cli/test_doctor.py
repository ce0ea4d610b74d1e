"""`delightful doctor`: what is installed, what works, and what to do about the rest."""

import sys
import time
import tomllib
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from delightful import __version__
from delightful.cli import doctor

EXTRAS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
OPTIONS = Namespace(store=None, json=False)


def test_it_tells_what_is_there_and_ends_well(
    delightful: Any, as_json: Callable[[str], Any], store: Path
) -> None:
    start = time.monotonic()
    done = delightful("doctor", "--json", "--store", store)
    assert time.monotonic() - start < 20  # 1.5 s on an idle machine
    assert (done.returncode, done.stderr) == (0, "")
    found = as_json(done.stdout)
    assert (found["delightful"], found["python"].split()[0]) == (
        __version__,
        sys.version.split()[0],
    )
    assert found["packages"]["numpy"]
    checks = {check["name"]: check for check in found["checks"]}
    assert {f"extra {name}" for name in EXTRAS["optional-dependencies"]} <= set(checks)
    assert checks["extra lab"]["works"] is True
    assert checks["store"]["found"] == f"24 cells in {store}"
    assert {"cache", "cores", "MNIST", "rendering"} <= set(checks)
    for check in checks.values():
        assert check["works"] or check["found"]


def test_every_problem_has_a_line_that_says_what_to_do(
    delightful: Any, tmp_path: Path, store: Path
) -> None:
    env = {"DELIGHTFUL_MNIST": str(tmp_path / "nothing"), "MUJOCO_GL": "none"}
    done = delightful("doctor", "--store", store, env={**env, "COLUMNS": "200"})
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    problems = [n for n, line in enumerate(lines) if line.startswith("  ✗")]
    assert {lines[n].split(":")[0] for n in problems} >= {"  ✗ MNIST", "  ✗ rendering"}
    assert all(lines[n + 1].startswith("      → ") for n in problems)
    assert "      → `delightful data mnist` fetches it" in lines


def requires(monkeypatch: pytest.MonkeyPatch, *texts: str) -> None:
    versions = {"delightful-rl": "0.1.0", "have": "1.5", "old": "0.9"}
    monkeypatch.setattr(doctor.metadata, "requires", lambda _: texts)
    monkeypatch.setattr(doctor, "_version", versions.get)


def test_an_extra_works_if_all_that_it_requires_is_there_in_the_right_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requires(
        monkeypatch,
        "have>=1",
        'have>=1; extra == "good"',
        'old>=1; extra == "bad"',
        'delightful-rl[good,bad]; extra == "both"',
        'absent; extra == "none"',
        'absent; sys_platform == "nowhere" and extra == "elsewhere"',
    )
    lacking = {extra: list(doctor._lacking(extra)) for extra in ("good", "bad", "both", "none")}
    assert lacking == {
        "good": [],
        "bad": ["old is 0.9, not >=1"],
        "both": ["old is 0.9, not >=1"],
        "none": ["absent is not installed"],
    }
    assert list(doctor._lacking("elsewhere")) == []


def test_without_the_lab_it_says_what_to_install(delightful: Any) -> None:
    code = "import sys; sys.modules['polars'] = sys.modules['rich'] = None;"
    code += "import delightful.cli.main as c; sys.exit(c.main())"
    done = delightful("doctor", command=[sys.executable, "-c", code])
    assert (done.returncode, done.stderr) == (0, "")
    assert "✗ lab: " in done.stdout
    assert "pip install '.[lab]' in a clone of delightful" in done.stdout


def test_a_checkout_that_was_never_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise doctor.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.metadata, "requires", absent)
    monkeypatch.setattr(doctor.metadata, "version", absent)
    (check,) = doctor._extras()
    assert (check.works, doctor._packages()) == (False, {})
    assert "pip install" in check.advice
