"""Shared by the training benchmarks: steps per second against PyTorch's, and goals."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from delightful.lab.errors import LabError
from delightful.lab.statistics import bootstrap


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
    ratio = bootstrap(speed / plain, np.median)
    fraction = bootstrap(speed * flops / best, np.median)
    return {
        "seed_steps_per_second": float(np.median(speed)),
        "torch_steps_per_second": float(np.median(plain)),
        "ratio_to_torch": ratio.value,
        "ratio_to_torch_interval": [ratio.low, ratio.high],
        "matmul_peak_gflops": best / 1e9,
        "fraction_of_matmul_peak": fraction.value,
        "fraction_of_matmul_peak_interval": [fraction.low, fraction.high],
    }


def shown(figures: dict[str, Any], name: str) -> str:
    low, high = figures[f"{name}_interval"]
    return f"{figures[name]:.2f} [{low:.2f}, {high:.2f}]"


def at_least(figures: dict[str, Any], name: str, goal: float) -> str:
    held = "held" if figures[name] >= goal else "missed"
    return f"{shown(figures, name)}  goal {goal:g}: {held}"


def at_most(figures: dict[str, Any], name: str, goal: float) -> str:
    held = "held" if figures[name] <= goal else "missed"
    return f"{shown(figures, name)}  goal at most {goal:g}: {held}"
