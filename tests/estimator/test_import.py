"""`import delightful` is light: it needs neither JAX nor PyTorch, and loads neither."""

import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import delightful

BLOCK = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
"""
NUMPY = """
import numpy as np
import delightful
U, log_prob = np.array([1.0, -1.0]), np.array([-1.0, -2.0])
for method in delightful.METHODS:
    delightful.policy_loss(log_prob, U, method=method)
print(delightful.gate(log_prob, U).tolist())
delightful.diagnose(log_prob, U)
"""
TORCH = """
import torch, delightful
U, log_prob = torch.tensor([1.0, -1.0]), torch.tensor([-1.0, -2.0], requires_grad=True)
delightful.policy_loss(log_prob, U).backward()
"""
JAX = """
import jax, delightful
U, log_prob = jax.numpy.array([1.0, -1.0]), jax.numpy.array([-1.0, -2.0])
jax.grad(delightful.policy_loss)(log_prob, U)
"""


def run(script: str) -> str:
    """What `script` prints in a fresh interpreter that finds the package under test."""
    where = str(Path(delightful.__file__).parents[1])
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env={**os.environ, "PYTHONPATH": where},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_import_loads_no_library_but_numpy() -> None:
    script = "import sys, delightful; print({'jax', 'jaxlib', 'torch'} & set(sys.modules))"
    assert run(script) == "set()"


def test_numpy_users_load_neither_jax_nor_torch() -> None:
    script = NUMPY + "import sys; print({'jax', 'jaxlib', 'torch'} & set(sys.modules))"
    assert run(script).endswith("set()")


@pytest.mark.parametrize(
    ("blocked", "script"),
    [({"jax", "jaxlib", "torch"}, NUMPY), ({"jax", "jaxlib"}, TORCH), ({"torch"}, JAX)],
    ids=["numpy alone", "no jax", "no torch"],
)
def test_it_works_where_a_library_is_not_installed(blocked: set[str], script: str) -> None:
    run(BLOCK.format(blocked=blocked) + script)


def test_numpy_arrays_work_while_another_thread_imports_jax(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "jax", types.ModuleType("jax"))  # it has nothing in it yet
    weight = delightful.score_weight(np.array([-1.0]), np.array([1.0]), method="dg")
    assert weight == pytest.approx(1 / (1 + np.exp(-1.0)))


def test_import_is_quick() -> None:
    script = (
        "import time; start = time.process_time(); import delightful\n"
        "print(time.process_time() - start)"
    )
    run(script)  # the first reads the files from disk and may write bytecode
    # CPU time, the best of several: what else the machine does only ever adds.
    assert min(float(run(script)) for _ in range(15)) < 0.2


def test_every_public_name_is_there() -> None:
    assert all(hasattr(delightful, name) for name in delightful.__all__)
