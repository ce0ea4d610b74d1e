"""One compiled program per array shape: floats are traced, everything else is static.

Sweeping a learning rate, a temperature or any other float never recompiles, and seeds are run
side by side with vmap. Every process is single-threaded, one per core: that keeps XLA's threads
from competing, and the result does not depend on how many there are.
"""

import dataclasses
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from delightful.lab.cells import Curves
from delightful.lab.config import Config
from delightful.weights import parse_method

_FLAGS = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def single_threaded() -> None:
    """Set XLA up for one thread per process; must be called before jax is first used."""
    flags = os.environ.get("XLA_FLAGS", "")
    if _FLAGS not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_FLAGS}".strip()
    # Several processes may share a GPU; by default each would claim most of its memory.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "delightful" / "xla"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5")


class OverSeeds:
    """Lifts `train(config, hyperparameters, key) -> curves` to `run(config, seeds) -> curves`.

    Inside `train`, `config.method` is the method's bare name and `hyperparameters` are its own,
    floats traced, as `policy_loss` takes them.
    """

    def __init__(self, train: Callable[..., Any]) -> None:
        self._train = train
        self.compiled = functools.cache(self._compile)

    def __call__(self, config: Config, seeds: np.ndarray) -> Curves:
        floats = {
            f.name: getattr(config, f.name)
            for f in dataclasses.fields(config)
            if isinstance(getattr(config, f.name), float)
        }
        method, options = parse_method(config.method)
        traced = {name: value for name, value in options.items() if isinstance(value, float)}
        fixed = tuple((name, value) for name, value in options.items() if name not in traced)
        static = dataclasses.replace(config, method=method.name, **dict.fromkeys(floats, 0.0))
        curves = self.compiled(static, fixed)(floats, traced, np.asarray(seeds, dtype=np.uint32))
        curves = {name: np.asarray(values) for name, values in curves.items()}
        return {**curves, "step": curves["step"][0]}

    def _compile(
        self, static: Config, static_options: tuple[tuple[str, Any], ...]
    ) -> Callable[..., Any]:
        import jax

        def one(floats: dict[str, Any], options: dict[str, Any], seed: Any) -> Any:
            config = dataclasses.replace(static, **floats)
            return self._train(config, {**dict(static_options), **options}, jax.random.key(seed))

        compiled: Callable[..., Any] = jax.jit(jax.vmap(one, in_axes=(None, None, 0)))
        return compiled
