"""Which configs and seeds the figures and claims on frictions need, at each scale.

Strengths, learning rates and the thresholds of the claims were settled before methods were
compared in any run with bugs, corruption or discovery; two short runs of DG alone, to time them,
had been seen. The sizes of the quick scale are what its time allows. Every method has the same grid
of learning rates; figures and claims use the best of each on its own.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from delightful.agents.tokens.frictions import FrictionTokensConfig
from delightful.lab.cells import Point, Sweep
from delightful.paper.frictions.config import MNIST, TOKENS, FrictionMnistConfig

FRICTIONS = ("delay", "bugs", "corruption", "discovery")
ALL = "all"  # the grid on which all four act at once, at several multiples of `TOGETHER`
TOGETHER = {"bugs": 0.1, "corruption": 0.1, "discovery": 0.01}
DELAY = {"tokens": 10, "mnist": 100}  # of the four at once
_SMOKE_DELAY = 2  # one for all smoke runs: each delay is compiled on its own
MULTIPLES = (0.3, 1.0, 3.0)

_SHARES = {"bugs": (0.1, 0.3), "corruption": (0.1, 0.3), "discovery": (0.01, 0.1)}
_FEW_SHARES = {"bugs": (0.3,), "corruption": (0.3,), "discovery": (0.1,)}
TOKEN_STRENGTHS: dict[str, dict[str, tuple[Any, ...]]] = {
    "paper": {"delay": (1, 3, 10, 30), **_SHARES},
    "quick": {"delay": (10,), **_FEW_SHARES},
    "smoke": {"delay": (_SMOKE_DELAY,), **_FEW_SHARES},
}
MNIST_STRENGTHS: dict[str, dict[str, tuple[Any, ...]]] = {
    "paper": {"delay": (10, 100, 1000), **_SHARES},
    "quick": {"delay": (100,), **_FEW_SHARES},
    "smoke": {"delay": (_SMOKE_DELAY,), **_FEW_SHARES},
}
METHODS = {
    "paper": ("pg", "iwpg", "ppo", "pmpo", "dg"),
    "quick": ("pg", "iwpg", "ppo", "dg"),
    "smoke": ("iwpg", "dg"),
}
TOKEN_RATES = {"paper": (3e-4, 1e-3, 3e-3), "quick": (1e-3, 3e-3), "smoke": (1e-3,)}
MNIST_RATES = {"paper": (1e-4, 3e-4, 1e-3, 3e-3), "quick": (3e-4, 1e-3), "smoke": (1e-3,)}
LENGTHS = {"paper": (5, 10, 20), "quick": (5, 10), "smoke": (3, 4)}
_SMOKE = FrictionTokensConfig(
    length=3, prompts=2, samples=4, width=8, layers=1, heads=1, feedforward=8, steps=20, records=10
)


def aged(config: FrictionTokensConfig, delay: int) -> FrictionTokensConfig:
    """With actors up to `delay` updates old; fresh ones all have the learner's policy."""
    return replace(config, delay=delay, ages="uniform" if delay else "fixed")


def together(config: Any, multiple: float, delay: int) -> Any:
    """All four frictions, each as many times as strong as in `TOGETHER` and `DELAY`."""
    shares = {name: round(multiple * share, 6) for name, share in TOGETHER.items()}
    return _set(replace(config, **shares), "delay", round(multiple * delay))


def _set(config: Any, friction: str, strength: Any) -> Any:
    if friction == "delay" and isinstance(config, FrictionTokensConfig):
        return aged(config, strength)
    return replace(config, **{friction: strength})


def _grids(
    config: Any, strengths: dict[str, tuple[Any, ...]], multiples: Sequence[float], delay: int
) -> list[tuple[Any, str]]:
    """Configs, each with the grid that it is on: without friction, one alone, all at once."""
    plain = _set(config, "delay", 0)
    found = [(plain, grid) for grid in (*FRICTIONS, ALL)]
    found += [(_set(plain, name, x), name) for name, each in strengths.items() for x in each]
    return found + [(together(plain, multiple, delay), ALL) for multiple in multiples]


def _compared(config: Any, varied: str, scale: str, rates: Sequence[float]) -> list[Point]:
    """Every method at every learning rate."""
    return [
        Point(
            replace(config, method=method, learning_rate=rate),
            "main" if method == "dg" else "rival",
            varied,
        )
        for method in METHODS[scale]
        for rate in rates
    ]


def _tokens(scale: str) -> list[Point]:
    smaller = {"quick": FrictionTokensConfig(length=5, steps=200), "smoke": _SMOKE}
    config = smaller.get(scale, FrictionTokensConfig())
    grids = _grids(config, TOKEN_STRENGTHS[scale], _multiples(scale), _delay("tokens", scale))
    return [p for c, on in grids for p in _compared(c, on, scale, TOKEN_RATES[scale])]


def _mnist(scale: str) -> list[Point]:
    shorter = {
        "quick": FrictionMnistConfig(steps=2000, records=20),
        "smoke": FrictionMnistConfig(steps=20, records=2),
    }
    config = shorter.get(scale, FrictionMnistConfig())
    grids = _grids(config, MNIST_STRENGTHS[scale], _multiples(scale), _delay("mnist", scale))
    return [p for c, on in grids for p in _compared(c, on, scale, MNIST_RATES[scale])]


def _difficulty(scale: str) -> list[Point]:
    short = {"quick": FrictionTokensConfig(steps=400, records=100), "smoke": _SMOKE}
    config = short.get(scale, FrictionTokensConfig(steps=10_000, records=1000))
    config = together(config, 1.0, _delay("tokens", scale))
    sized = [replace(config, length=length) for length in LENGTHS[scale]]
    return [p for c in sized for p in _compared(c, "length", scale, TOKEN_RATES[scale])]


def _delay(task: str, scale: str) -> int:
    return _SMOKE_DELAY if scale == "smoke" else DELAY[task]


def _multiples(scale: str) -> tuple[float, ...]:
    return MULTIPLES if scale == "paper" else (1.0,)


_SEEDS = {"smoke": 2, "quick": 8, "paper": 30}  # 4 would be judged as 3, which decide nothing

TOKENS_SWEEP = Sweep("frictions/tokens", TOKENS, _tokens, _SEEDS)
MNIST_SWEEP = Sweep("frictions/mnist", MNIST, _mnist, _SEEDS)
DIFFICULTY = Sweep("frictions/difficulty", TOKENS, _difficulty, _SEEDS)

SWEEPS = (TOKENS_SWEEP, MNIST_SWEEP, DIFFICULTY)
