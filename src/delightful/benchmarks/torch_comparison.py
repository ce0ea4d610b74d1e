"""Shared by the training benchmarks: steps per second, beside PyTorch's and the machine's peak."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from delightful.benchmarks.timing import alternating, median, seconds
from delightful.benchmarks.workers import Workers
from delightful.lab.errors import LabError, install

SIZES = (512, 1024, 2048)  # of the square matrices whose float32 products reach the peak
_REPEATS = 4  # products in one task
_TORCH_SHARE = 4  # PyTorch runs a quarter of the steps, which take it about as long


def need_torch(benchmark: str) -> None:
    if find_spec("torch") is None:
        raise LabError(
            f"bench {benchmark} compares with torch, which is missing: {install('lab,torch')}."
        )


def products() -> dict[str, Callable[[], object]]:
    """A task per size, named "product 512" and so on: for one process, by XLA."""
    square = jax.jit(lambda x: x @ x)

    def task(x: jax.Array) -> None:
        for _ in range(_REPEATS):
            square(x).block_until_ready()

    return {f"product {size}": partial(task, jnp.ones((size, size))) for size in SIZES}


def compared(
    machine: Workers, processes: int, task: str, steps: int, flops: float, trainer: Any, rounds: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """Our seed-steps per second in each round, and the figures that compare them.

    `task` trains for `steps` of `flops` operations; `products()` must be among the tasks too.
    """
    share = max(1, steps // _TORCH_SHARE)
    ours, theirs = alternating(lambda: machine.seconds(task), lambda: trainer.train(share), rounds)
    speed, plain, best = processes * steps / ours, share / theirs, _peak(machine, processes)
    return speed, {
        "seed_steps_per_second": float(np.median(speed)),
        "torch_steps_per_second": float(np.median(plain)),
        **median("ratio_to_torch", speed / plain),
        "matmul_peak_gflops": best / 1e9,
        **median("fraction_of_matmul_peak", speed * flops / best),
    }


def _peak(machine: Workers, processes: int) -> float:
    """Operations per second of all cores in the fastest of all products, by XLA or by PyTorch."""
    import torch

    def by_torch(x: torch.Tensor) -> None:
        for _ in range(_REPEATS):
            torch.matmul(x, x)

    best = 0.0
    for size in SIZES:
        name, theirs = f"product {size}", partial(by_torch, torch.ones((size, size)))
        flops = 2.0 * size**3 * _REPEATS
        machine.seconds(name)
        theirs()
        for _ in range(10):
            ours = processes * flops / machine.seconds(name)
            best = max(best, ours, flops / seconds(theirs))
    return best
