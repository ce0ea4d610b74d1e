"""What the estimator needs to know about array libraries, and nothing more.

Everything else in the estimator is written once against the array API standard. The facts kept
here have no standard spelling: which library an array belongs to, how a gradient is stopped, and
whether values may be looked at (they may not while JAX, vmap or torch.compile is tracing).

Libraries are told apart through `sys.modules`, so none is imported that the caller has not.
"""

import sys
from typing import Any

import numpy as np

Array = Any
"""A NumPy, JAX or PyTorch array; every function returns the kind that it was given."""


def library(array: Any) -> str | None:
    """ "torch", "jax" or "numpy"; None if it is no array of theirs."""
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and isinstance(array, torch.Tensor):
        return "torch"
    if jax is not None and isinstance(array, jax.Array):
        return "jax"
    return "numpy" if isinstance(array, (np.ndarray, np.generic)) else None


def namespace(**named: Array) -> Any:
    """The array-API namespace that the `named` arrays share; `None` values are ignored."""
    libraries = {name: library(array) for name, array in named.items() if array is not None}
    for name, found in libraries.items():
        if found is None:
            got = type(named[name]).__name__
            raise TypeError(f"{name} must be a NumPy, JAX or PyTorch array, got {got}")
    present = set(libraries.values())
    # JAX takes NumPy arrays as its own, and its users pass them; no other mixture is meant.
    if len(present) > 1 and present != {"jax", "numpy"}:
        mixture = ", ".join(f"{name} from {found}" for name, found in libraries.items())
        raise TypeError(f"all arrays must come from one library, got {mixture}")
    if "torch" in present:
        import array_api_compat.torch

        return array_api_compat.torch
    if "jax" in present:
        return sys.modules["jax"].numpy
    import array_api_compat.numpy

    return array_api_compat.numpy


def at_least_float32(xp: Any, name: str, array: Array) -> Array:
    """`array` with float16 and bfloat16 widened: the gate underflows and rounds to 1 in half."""
    if library(array) != "torch":
        array = xp.asarray(array)
    elif array.dtype == xp.float32:
        return array  # the common case, decided cheaply: eager mode pays for every line
    if not xp.isdtype(array.dtype, "real floating"):
        raise TypeError(f"{name} must be a real floating-point array, got dtype {array.dtype}")
    return xp.astype(array, xp.float32) if xp.finfo(array.dtype).bits < 32 else array


def stop_gradient(array: Array) -> Array:
    """`array` as a constant to automatic differentiation."""
    found = library(array)
    if found == "torch":
        return array.detach()
    return sys.modules["jax"].lax.stop_gradient(array) if found == "jax" else array


def values_are_visible(*arrays: Array) -> bool:
    """Whether a Python `if` may look at the values: false under any JAX or torch.func
    transformation, torch.compile and CUDA-graph capture."""
    for array in arrays:
        found = library(array)
        if found == "torch" and not _torch_value_is_visible(array):
            return False
        if found == "jax" and isinstance(array, sys.modules["jax"].core.Tracer):
            return False
    return True


def _torch_value_is_visible(array: Array) -> bool:
    torch = sys.modules["torch"]
    if torch.compiler.is_compiling() or array.is_meta:
        return False
    if torch._C._functorch.is_functorch_wrapped_tensor(array):
        return False
    return not (array.is_cuda and torch.cuda.is_current_stream_capturing())


def has_float64(array: Array) -> bool:
    """Whether float64 is at hand: not in JAX by default, nor on Apple's GPUs."""
    found = library(array)
    return found == "numpy" or (found == "torch" and array.device.type != "mps")


def is_number(value: Any) -> bool:
    """Whether it is a plain number, as against an array that may be traced."""
    return isinstance(value, (int, float, np.number))
