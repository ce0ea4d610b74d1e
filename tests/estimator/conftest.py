"""One handle for the three array libraries, so that a test is written once."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch


class Library:
    """NumPy, PyTorch or JAX: makes its arrays, reads them back, differentiates."""

    def __init__(self, name: str) -> None:
        self.name = name

    def array(self, values: Any, dtype: str = "float32") -> Any:
        if self.name == "torch":
            return torch.tensor(np.asarray(values), dtype=getattr(torch, dtype))
        return jnp.asarray(values, dtype=dtype) if self.name == "jax" else np.asarray(values, dtype)

    def numpy(self, array: Any) -> Any:
        return np.asarray(array.detach() if self.name == "torch" else array)

    def value_and_gradient(self, function: Callable[[Any], Any], values: Any) -> tuple[Any, Any]:
        """`function` and its gradient at `values`, as NumPy arrays."""
        at = self.array(values)
        if self.name == "jax":
            value, gradient = jax.value_and_grad(function)(at)
            return np.asarray(value), np.asarray(gradient)
        value = function(at.requires_grad_())
        return self.numpy(value), torch.autograd.grad(value, at)[0].numpy()


@pytest.fixture(params=["numpy", "torch", "jax"], scope="session")
def lib(request: pytest.FixtureRequest) -> Library:
    return Library(request.param)


@pytest.fixture(params=["torch", "jax"], scope="session")
def autodiff(request: pytest.FixtureRequest) -> Library:
    """A library that differentiates."""
    return Library(request.param)


@pytest.fixture(scope="session")
def torch_and_jax() -> tuple[Library, Library]:
    return Library("torch"), Library("jax")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
