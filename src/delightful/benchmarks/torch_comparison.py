"""Shared by the training benchmarks: steps per second against PyTorch's, and goals."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from delightful.benchmarks.timing import median, shown
from delightful.lab.errors import LabError


def need_torch(benchmark: str) -> None:
    if find_spec("torch") is None:
        raise LabError(
            f"bench {benchmark} compares with torch, which is missing: "
            "pip install '.[lab,torch]' in a clone of delightful."
        )


def compared(speed: np.ndarray, plain: np.ndarray, flops: float, best: float) -> dict[str, Any]:
    """Figures from the steps per second of each round, ours and PyTorch's.

    flops: operations of one step; best: the machine's peak in operations per second.
    """
    return {
        "seed_steps_per_second": float(np.median(speed)),
        "torch_steps_per_second": float(np.median(plain)),
        **median("ratio_to_torch", speed / plain),
        "matmul_peak_gflops": best / 1e9,
        **median("fraction_of_matmul_peak", speed * flops / best),
    }


def at_least(figures: dict[str, Any], name: str, goal: float) -> str:
    held = "held" if figures[name] >= goal else "missed"
    return f"{shown(figures, name)}  goal {goal:g}: {held}"


def at_most(figures: dict[str, Any], name: str, goal: float) -> str:
    held = "held" if figures[name] <= goal else "missed"
    return f"{shown(figures, name)}  goal at most {goal:g}: {held}"
