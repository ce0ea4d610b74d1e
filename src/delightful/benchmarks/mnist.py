"""Training on MNIST: seed-steps per second of all cores, compared with plain PyTorch.

Ours is what the lab runs, one single-threaded process per core, with a seed each, compiling not
counted. PyTorch is an eager loop over one seed as a user would write it, on all of its threads.
The peak is the best that XLA or PyTorch reaches in large float32 products in the same run.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from delightful.benchmarks import verdict
from delightful.benchmarks.timing import shown
from delightful.benchmarks.torch_comparison import compared, need_torch, products
from delightful.benchmarks.workers import workers
from delightful.lab.runners import cores
from delightful.paper.mnist.config import MnistConfig, flops
from delightful.paper.mnist.data import fetch

GOALS = {"ratio_to_torch": 4.0, "fraction_of_matmul_peak": 0.7}


def tasks(config: MnistConfig) -> dict[str, Callable[[], object]]:
    """The tasks of each of our processes."""
    from delightful.paper.mnist.train import run

    return {"train": lambda: run(config, np.arange(1)), **products()}


def measure(steps: int = 2000, rounds: int = 10) -> dict[str, Any]:
    need_torch("mnist")
    fetch()
    config = MnistConfig(steps=steps, records=1)
    processes = cores()
    with workers(processes, "delightful.benchmarks.mnist:tasks", config) as machine:
        from delightful.benchmarks.torch_mnist import Trainer

        trainer = Trainer(config)
        _, figures = compared(machine, processes, "train", steps, flops(config), trainer, rounds)
    return {**figures, "processes": processes, "steps": steps, "rounds": rounds}


def describe(figures: dict[str, Any]) -> str:
    ratio, fraction = (
        f"{shown(figures, name)}  {verdict('goal', goal, figures[name] >= goal)}"
        for name, goal in GOALS.items()
    )
    return "\n".join(
        [
            f"MNIST, DG, batch 100, two hidden layers of 100, {figures['processes']} processes",
            f"  seed-steps per second    {figures['seed_steps_per_second']:.0f}"
            f"  (eager PyTorch: {figures['torch_steps_per_second']:.0f})",
            f"  ratio to eager PyTorch   {ratio}",
            f"  fraction of matmul peak  {fraction}"
            f"  (peak {figures['matmul_peak_gflops']:.0f} GFLOP/s)",
        ]
    )
