"""What the estimator needs to know about array libraries, and nothing more.

Everything else in the estimator is written once against the array API standard. The facts kept
here have no standard spelling: which library an array belongs to, how a gradient is stopped, and
whether values may be looked at (they may not while JAX, vmap or torch.compile is tracing).

Libraries are told apart through `sys.modules`, so none is imported that the caller has not.
"""

import sys
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np


class Array(Protocol):
    """A NumPy, JAX or PyTorch array: what the public functions take and return."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...


ArrayT = TypeVar("ArrayT", bound=Array)
"""The kind of array that was given is the kind that is returned."""


def library(array: Any) -> str | None:
    """ "torch", "jax" or "numpy"; None if it is not an array of one of them."""
    # NumPy first: another thread may be importing JAX, which then has no Array yet.
    if isinstance(array, (np.ndarray, np.generic)):
        return "numpy"
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return "torch"
    jax = sys.modules.get("jax")
    return "jax" if jax is not None and isinstance(array, jax.Array) else None


def namespace(**named: Any) -> Any:
    """The array-API namespace that the `named` arrays share; `None` values are ignored."""
    libraries = {name: library(array) for name, array in named.items() if array is not None}
    present = set(libraries.values())
    if None in present:
        name = next(name for name, found in libraries.items() if found is None)
        got = type(named[name]).__name__
        raise TypeError(f"{name} must be a NumPy, JAX or PyTorch array, got {got}")
    # JAX takes NumPy arrays as its own, and its users pass them; no other mixture is meant.
    if len(present) > 1 and present != {"jax", "numpy"}:
        mixture = ", ".join(f"{name} from {found}" for name, found in libraries.items())
        raise TypeError(f"all arrays must come from one library, got {mixture}")
    if "torch" in present:
        return _torch_namespace()
    if "jax" in present:
        return sys.modules["jax"].numpy
    import array_api_compat.numpy

    return array_api_compat.numpy


def plain_torch(log_prob: Any, advantage: Any) -> Any:
    """The namespace of two float32 tensors of one shape, else None: eager mode's common case.

    There every line of Python costs as much as a small operation, so it is told apart with few.
    """
    torch = sys.modules.get("torch")
    if (
        torch is None
        or type(log_prob) is not torch.Tensor
        or type(advantage) is not torch.Tensor
        or log_prob.dtype is not torch.float32
        or advantage.dtype is not torch.float32
        or advantage.requires_grad
        or log_prob.shape != advantage.shape
    ):
        return None
    return _torch_namespace()


def _torch_namespace() -> Any:
    import array_api_compat.torch

    return array_api_compat.torch


def at_least_float32(xp: Any, name: str, array: Any) -> Any:
    """`array` with float16 and bfloat16 widened: in half precision the gate underflows."""
    if library(array) != "torch":
        array = xp.asarray(array)
    elif array.dtype == xp.float32:
        return array  # the common case, decided cheaply: eager mode pays for every line
    if not xp.isdtype(array.dtype, "real floating"):
        raise TypeError(f"{name} must be a real floating-point array, got dtype {array.dtype}")
    return xp.astype(array, xp.float32) if xp.finfo(array.dtype).bits < 32 else array


def stop_gradient(array: Any) -> Any:
    """`array` as a constant to automatic differentiation."""
    found = library(array)
    if found == "torch":
        return array.detach() if array.requires_grad else array
    return sys.modules["jax"].lax.stop_gradient(array) if found == "jax" else array


def saturating(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """operation(a, b), where ±∞ is a limit that is meant: NumPy alone would warn of it."""
    if isinstance(a, (np.ndarray, np.generic)):
        with np.errstate(over="ignore", invalid="ignore"):
            return operation(a, b)
    return operation(a, b)


def sigmoid(x: Any) -> Any:
    """σ(x) = 1/(1 + e⁻ˣ), accurate where it is near 0, without overflow."""
    found = library(x)
    if found == "torch":
        return x.sigmoid()
    if found == "jax":
        return sys.modules["jax"].nn.sigmoid(x)
    small = np.exp(-np.abs(x))  # never above 1
    return np.where(x >= 0, np.ones_like(small), small) / (1 + small)


def values_are_visible(*arrays: Any) -> bool:
    """Whether a Python `if` may look at the values: false under any JAX or torch.func
    transformation, torch.compile and CUDA-graph capture."""
    if all(isinstance(array, (np.ndarray, np.generic)) for array in arrays):
        return True
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and isinstance(arrays[0], torch.Tensor):
        if torch.compiler.is_compiling():
            return False
        wrapped = torch._C._functorch.is_functorch_wrapped_tensor
        for array in arrays:
            if array.is_meta or wrapped(array):
                return False
        return not (arrays[0].is_cuda and torch.cuda.is_current_stream_capturing())
    return jax is None or not any(isinstance(array, jax.core.Tracer) for array in arrays)


def is_number(value: Any) -> bool:
    """Whether it is a plain number, as against an array that may be traced."""
    return isinstance(value, (int, float, np.number))
