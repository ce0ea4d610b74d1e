"""Training on MNIST: seed-steps per second of all cores, compared with plain PyTorch.

Ours is what the lab runs, one single-threaded process per core, with a seed each, compiling not
counted. PyTorch is an eager loop over one seed as a user would write it, on all of its threads.
The peak is the best that XLA or PyTorch reaches in large float32 products in the same run.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from delightful.benchmarks import peak
from delightful.benchmarks.timing import alternating
from delightful.benchmarks.torch_comparison import at_least, compared, need_torch
from delightful.benchmarks.workers import workers
from delightful.lab.runners import cores
from delightful.paper.mnist.config import MnistConfig, flops
from delightful.paper.mnist.data import fetch

GOALS = {"ratio_to_torch": 4.0, "fraction_of_matmul_peak": 0.7}
_TORCH_SHARE = 4  # PyTorch runs a quarter of the steps, which take it about as long


def tasks(config: MnistConfig) -> dict[str, Callable[[], object]]:
    """The tasks of each of our processes."""
    from delightful.paper.mnist.train import run

    seeds = np.arange(1)
    return {"train": lambda: run(config, seeds), **peak.products()}


def measure(steps: int = 2000, rounds: int = 10) -> dict[str, Any]:
    need_torch("mnist")
    fetch()
    config = MnistConfig(steps=steps, records=1)
    processes = cores()
    with workers(processes, "delightful.benchmarks.mnist:tasks", config) as machine:
        from delightful.benchmarks.torch_mnist import Trainer

        trainer, share = Trainer(config), steps // _TORCH_SHARE
        ours, theirs = alternating(
            lambda: machine.seconds("train"), lambda: trainer.train(share), rounds
        )
        best = peak.reached(machine, processes)
    return {
        **compared(processes * steps / ours, share / theirs, flops(config), best),
        "processes": processes,
        "steps": steps,
        "rounds": rounds,
    }


def describe(figures: dict[str, Any]) -> str:
    ratio, fraction = (at_least(figures, name, goal) for name, goal in GOALS.items())
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
