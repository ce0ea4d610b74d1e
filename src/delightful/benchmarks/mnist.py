"""Training on MNIST: seed-steps per second of the whole machine, beside plain PyTorch.

Ours is what the lab runs, one single-threaded process per core, with a seed each, compiling not
counted. PyTorch is an eager loop over one seed as a user would write it, on all of its threads.
The peak is the best that XLA or PyTorch reaches in large float32 products in the same run.
"""

import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from delightful.benchmarks import peak
from delightful.benchmarks.workers import Workers, workers
from delightful.experiments.mnist.config import MnistConfig, flops
from delightful.experiments.mnist.data import fetch
from delightful.lab.errors import LabError
from delightful.lab.runners import cores
from delightful.lab.statistics import bootstrap

GOALS = {"ratio_to_torch": 4.0, "fraction_of_matmul_peak": 0.7}
_TORCH_SHARE = 4  # PyTorch runs a quarter of the steps, which take it about as long


def tasks() -> dict[str, Callable[[], object]]:
    """What each of our processes can be told to do."""
    from delightful.experiments.mnist.train import run

    config = _config(int(os.environ["DELIGHTFUL_BENCH_STEPS"]))
    seeds = np.arange(1)
    return {"train": lambda: run(config, seeds), **peak.products()}


def _config(steps: int) -> MnistConfig:
    return MnistConfig(steps=steps, records=1)


def measure(steps: int = 2000, rounds: int = 10) -> dict[str, Any]:
    if find_spec("torch") is None:
        raise LabError(
            "bench mnist compares with torch, which is missing: "
            "pip install 'delightful-rl[lab,torch]'."
        )
    fetch()
    os.environ["DELIGHTFUL_BENCH_STEPS"] = str(steps)
    processes = cores()
    with workers(processes, "delightful.benchmarks.mnist:tasks") as machine:
        from delightful.benchmarks.torch_mnist import Trainer

        trainer = Trainer(_config(steps))
        machine.seconds("train")  # compiles
        trainer.train(steps // _TORCH_SHARE)
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(processes * steps / machine.seconds("train"))
            start = time.perf_counter()
            trainer.train(steps // _TORCH_SHARE)
            theirs.append(steps // _TORCH_SHARE / (time.perf_counter() - start))
        best = _peak(machine, processes)
    speed, plain = np.array(ours), np.array(theirs)
    ratio = bootstrap(speed / plain, np.median)
    fraction = bootstrap(speed * flops(_config(steps)) / best, np.median)
    return {
        "seed_steps_per_second": float(np.median(speed)),
        "torch_steps_per_second": float(np.median(plain)),
        "ratio_to_torch": ratio.value,
        "ratio_to_torch_interval": [ratio.low, ratio.high],
        "matmul_peak_gflops": best / 1e9,
        "fraction_of_matmul_peak": fraction.value,
        "fraction_of_matmul_peak_interval": [fraction.low, fraction.high],
        "processes": processes,
        "steps": steps,
        "rounds": rounds,
    }


def _peak(machine: Workers, processes: int) -> float:
    """Operations per second in the fastest of all products, by the whole machine."""
    by_torch = peak.torch_products()
    best = 0.0
    for size in peak.SIZES:
        name = f"product {size}"
        machine.seconds(name)
        by_torch[name]()
        for _ in range(10):
            best = max(best, processes * peak.flops(size) / machine.seconds(name))
            start = time.perf_counter()
            by_torch[name]()
            best = max(best, peak.flops(size) / (time.perf_counter() - start))
    return best


def describe(figures: dict[str, Any]) -> str:
    def goal(name: str) -> str:
        low, high = figures[f"{name}_interval"]
        held = "held" if figures[name] >= GOALS[name] else "missed"
        return f"{figures[name]:.2f} [{low:.2f}, {high:.2f}]  goal {GOALS[name]:g}: {held}"

    return "\n".join(
        [
            f"MNIST, DG, batch 100, two hidden layers of 100, {figures['processes']} processes",
            f"  seed-steps per second    {figures['seed_steps_per_second']:.0f}"
            f"  (eager PyTorch: {figures['torch_steps_per_second']:.0f})",
            f"  ratio to eager PyTorch   {goal('ratio_to_torch')}",
            f"  fraction of matmul peak  {goal('fraction_of_matmul_peak')}"
            f"  (peak {figures['matmul_peak_gflops']:.0f} GFLOP/s)",
        ]
    )
