"""One compiled program per array shape: floats are traced, everything else is static.

Sweeping a learning rate, a temperature or any other float never recompiles; nor does sweeping a
categorical field that the program lists in `words`. A sweep runs one process per core with one
thread each, so that XLA's threads do not compete. The number of threads changes how results round,
so it does not depend on the machine.
"""

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from delightful.lab.cells import Curves
from delightful.lab.config import MethodConfig
from delightful.registry import parse_method

Fixed = tuple[tuple[str, Any], ...]  # options of a method, with their values
Floats = dict[str, float]


def use_threads(count: int = 1) -> None:
    """Set the number of XLA threads per process; to be called before jax is first used."""
    # XLA takes this for the number of cores. Its flags for threads no longer hold back large
    # matrix products: two processes that obeyed them took twice as long as with this.
    os.environ.setdefault("NPROC", str(count))
    # NumPy's products, in the processes that are started from here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Several processes may share a GPU; by default each would claim most of its memory.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache_folder() / "xla"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5")


def cache_folder() -> Path:
    """Where compiled programs and data sets are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "delightful"


def threads() -> str:
    """The number of threads that XLA was set up for; empty if nobody set it."""
    return os.environ.get("NPROC", "")


def separate(config: MethodConfig) -> tuple[MethodConfig, Fixed, Floats, Floats]:
    """Split a config into what JAX compiles in and what it traces.

    Returns the config with the method's bare name and floats of 0; the method's options that are
    not floats; the config's floats; the method's floats.
    """
    fields = {f.name: getattr(config, f.name) for f in dataclasses.fields(config)}
    floats = {name: value for name, value in fields.items() if isinstance(value, float)}
    method, options = parse_method(config.method)
    traced = {name: value for name, value in options.items() if isinstance(value, float)}
    fixed = tuple((name, value) for name, value in options.items() if name not in traced)
    static = dataclasses.replace(config, method=method.name, **dict.fromkeys(floats, 0.0))
    return static, fixed, floats, traced


@dataclasses.dataclass(eq=False)
class OverSeeds:
    """Turns `train(config, hyperparameters, key, *data) -> curves` into `run(config, seeds)`.

    Inside `train`, `config.method` is the method's bare name and `hyperparameters` are its options,
    floats traced, as `policy_loss` takes them. `data` returns the arrays that all seeds share.
    `fills_core` says that one seed's matrix products keep a core busy: on a CPU its seeds then run
    one after the other, since vmapped they would spill the cache. `words` are categorical fields
    and their categories; `train` gets them as traced indices.
    """

    train: Callable[..., Any]
    _: dataclasses.KW_ONLY
    data: Callable[[], tuple[Any, ...]] = tuple
    fills_core: bool = False
    words: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self.shared = functools.cache(self.data)
        self.compiled = functools.cache(self._compile)

    def __call__(self, config: MethodConfig, seeds: np.ndarray) -> Curves:
        """Train every seed; see `Program`."""
        config.check()
        static, fixed, floats, traced = separate(config)
        indices = {name: words.index(getattr(config, name)) for name, words in self.words.items()}
        static = dataclasses.replace(static, **dict.fromkeys(indices, ""))
        program = self.compiled(static, fixed)
        seeds = np.asarray(seeds, dtype=np.uint32)
        found = program(floats | indices, traced, self.shared(), seeds)
        curves = {name: np.asarray(values) for name, values in found.items()}
        return {**curves, "step": curves["step"][0]}

    def _compile(self, static: MethodConfig, fixed: Fixed) -> Callable[..., Any]:
        import jax

        def one(fields: dict[str, Any], options: dict[str, Any], data: Any, seed: Any) -> Any:
            config = dataclasses.replace(static, **fields)
            options = {**dict(fixed), **options}
            return self.train(config, options, jax.random.key(seed), *data)

        if not self.fills_core or jax.default_backend() != "cpu":
            return jax.jit(jax.vmap(one, in_axes=(None, None, None, 0)))
        compiled = jax.jit(one)

        def in_turn(fields: Any, options: Any, data: Any, seeds: np.ndarray) -> dict[str, Any]:
            runs = [compiled(fields, options, data, seed) for seed in seeds]
            return {name: np.stack([run[name] for run in runs]) for name in runs[0]}

        return in_turn
