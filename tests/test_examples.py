"""Every example runs, is short, and prints what its docstring says it prints."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NOTEBOOK = ROOT / "docs" / "notebooks" / "dg-in-ten-minutes.ipynb"
NUMBER = re.compile(r"-?\d+\.?\d*")
SECONDS = 280

pytestmark = pytest.mark.timeout(SECONDS + 20)


def promised(path: Path) -> list[str]:
    """The indented lines at the end of the docstring, which are what it prints."""
    said = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").rpartition("prints")[2]
    lines = said.splitlines()[1:]
    assert lines
    assert all(line.startswith("    ") for line in lines)
    return [line[4:] for line in lines]


def printed(name: str, folder: Path) -> dict[str, list[float]]:
    """Run an example in an empty folder; the numbers of its last lines, by their first word.

    The words must be those of its docstring; numbers may round differently on another machine.
    """
    lines = promised(ROOT / "examples" / name)
    # What a framework warns of is not the example's: warnings are errors in this process only.
    ours = {"OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(folder / "cache"), "TQDM_DISABLE": "1"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name)],
        cwd=folder,
        env={**os.environ, **ours},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-len(lines) :]
    assert [_words(line) for line in last] == [_words(line) for line in lines]
    return {
        line.split()[0]: [float(number) for number in NUMBER.findall(line.partition(" ")[2])]
        for line in last
    }


def _words(line: str) -> str:
    """The line without its numbers, and without the spaces that their width decides on."""
    return re.sub(r"\s+", " ", NUMBER.sub("#", line))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_is_short_and_says_what_it_prints(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) < 80
    assert promised(path)
    assert f"def test_{path.stem}(" in Path(__file__).read_text("utf-8")


def test_torch_bandit(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    error = printed("torch_bandit.py", tmp_path)
    assert error["pg"][0] > 0.8
    assert error["dg:unit_gain=true"][0] < 0.2


@pytest.mark.slow
def test_jax_bandit(tmp_path: Path) -> None:
    pytest.importorskip("optax")
    error = printed("jax_bandit.py", tmp_path)
    assert error["pg"][0] > 0.8
    assert error["dg:unit_gain=true"][0] < 0.2


@pytest.mark.slow
def test_actor_learner(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    found = printed("actor_learner.py", tmp_path)
    before, after = found["error"]
    assert before == 0.9
    assert after < 0.2
    assert found["staleness"][0] > 0


@pytest.mark.slow
def test_torch_cartpole(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("gymnasium")
    found = printed("torch_cartpole.py", tmp_path)
    assert found["dg:unit_gain=true"][0] > found["pg"][0] + 50


@pytest.mark.slow
def test_load_policy(tmp_path: Path) -> None:
    pytest.importorskip("dm_control")
    (total,) = printed("load_policy.py", tmp_path)["cartpole:balance:"]
    assert 0 < total <= 1000


def test_own_method(tmp_path: Path) -> None:
    weight = printed("own_method.py", tmp_path)
    assert weight["cubic"] == [0.001, -0.125, 1.0]
    assert weight["cubic:scale=0.5"] == [0.002, -0.25, 2.0]


def test_sb3_ppo(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    found = printed("sb3_ppo.py", tmp_path)
    assert found["after"][0] > 2 * found["before"][0]
    assert found["delight/gate_mean_positive"] > found["delight/gate_mean_negative"]


def test_trl_grpo(tmp_path: Path) -> None:
    pytest.importorskip("trl")
    found = printed("trl_grpo.py", tmp_path)
    before, after = found["reward"]
    assert after > before + 0.2
    assert found["gate_mean_positive"][0] > found["gate_mean_negative"][0]


@pytest.mark.slow
def test_the_notebook_prints_what_is_committed_in_it(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert NOTEBOOK.stat().st_size < 500_000
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    program = "\n".join("".join(cell["source"]) for cell in code)
    stored = [output for cell in code for output in cell["outputs"]]
    committed = "".join("".join(output.get("text", ())) for output in stored)
    assert sum("image/png" in output.get("data", {}) for output in stored) >= 4
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert _words(done.stdout) == _words(committed)
