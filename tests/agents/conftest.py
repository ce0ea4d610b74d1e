"""Compiling for tests: the programs run once or twice, so that compiling is what takes time."""

import functools
from collections.abc import Callable

import jax
import pytest


@pytest.fixture(scope="session")
def quick_jit() -> Callable[..., Callable]:
    """jax.jit, with little effort spent on a fast program."""
    options = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
    return functools.partial(jax.jit, compiler_options=options)
