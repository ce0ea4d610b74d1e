"""The peak of this machine's cores: float32 products of square matrices."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from delightful.benchmarks.timing import seconds
from delightful.benchmarks.workers import Workers

SIZES = (512, 1024, 2048)
_REPEATS = 4


def flops(size: int) -> float:
    """Floating-point operations of one task."""
    return 2.0 * size**3 * _REPEATS


def products() -> dict[str, Callable[[], object]]:
    """A task per size, named "product 512" and so on: for one process, by XLA."""

    def task(size: int) -> Callable[[], object]:
        x = jnp.ones((size, size), jnp.float32)
        product = jax.jit(lambda a, b: a @ b)
        return lambda: [product(x, x).block_until_ready() for _ in range(_REPEATS)]

    return {f"product {size}": task(size) for size in SIZES}


def torch_products() -> dict[str, Callable[[], object]]:
    """The same by PyTorch, on all of its threads."""
    import torch

    def task(size: int) -> Callable[[], object]:
        x = torch.ones((size, size))
        return lambda: [x @ x for _ in range(_REPEATS)]

    return {f"product {size}": task(size) for size in SIZES}


def reached(machine: Workers, processes: int) -> float:
    """Operations per second in the fastest of all products, of all cores.

    Our processes must have `products()` among their tasks.
    """
    by_torch = torch_products()
    best = 0.0
    for size in SIZES:
        name = f"product {size}"
        machine.seconds(name)
        by_torch[name]()
        for _ in range(10):
            best = max(best, processes * flops(size) / machine.seconds(name))
            best = max(best, flops(size) / seconds(by_torch[name]))
    return best
