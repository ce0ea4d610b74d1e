"""Which configs and seeds the figures and claims of Token Reversal need, at each scale.

The quick scale has fewer values and seeds, and some of its runs are shorter than the paper's; those
that are not are the first seeds of the paper's.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from delightful.agents.tokens.config import TASKS, TokensConfig
from delightful.lab.cells import DEFAULT, Point, Sweep
from delightful.paper.tokens.config import TRAIN

SETTINGS: dict[str, dict[str, Any]] = {
    "pg": {"learning_rate": 3e-4, "epochs": 1},
    "ppo": {"learning_rate": 3e-4, "epochs": 4},
    "pmpo": {"learning_rate": 3e-4, "epochs": 1},
    "dg": {"learning_rate": 1e-3, "epochs": 1},
}
"""DG and what it is compared with: the settings of each.

Learning rates were the best of Figure 21a's grid in trials of up to 20 seeds: at 1e-3 PPO and PMPO
broke down in some of them; for PG the two rates are close.

With fresh actors and one update per batch, PPO is REINFORCE: its ratios are all 1. It is given four
passes over each batch, which is how it is used.
"""

K = TokensConfig().steps
RATES = (1e-4, 3e-4, 1e-3, 3e-3)
LENGTHS = (5, 10, 20, 40)
VOCABULARIES = (2, 4, 8, 16, 32, 64)
CLIPS = (0.05, 0.1, 0.2, 0.4, 0.8)
PENALTIES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
PREFERENCES = (0.0, 0.25, 0.5, 0.75, 1.0)
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
TEMPERATURES = (0.2, 0.5, 1.0, 2.0, 5.0)

_SMOKE = TokensConfig(
    length=3, prompts=2, samples=4, width=8, layers=1, heads=1, feedforward=8, steps=8, records=4
)


def base(scale: str) -> TokensConfig:
    return _SMOKE if scale == "smoke" else TokensConfig()


def compared(config: TokensConfig, varied: str = DEFAULT) -> list[Point]:
    """DG and its rivals, each with its own settings."""
    return [
        Point(replace(config, method=name, **own), "main" if name == "dg" else "rival", varied)
        for name, own in SETTINGS.items()
    ]


def _some(scale: str, values: tuple[Any, ...], quick: tuple[Any, ...]) -> tuple[Any, ...]:
    """All values at the paper's scale, some at the quick one, two of those for a smoke test."""
    return {"paper": values, "smoke": quick[:2]}.get(scale, quick)


def _steps(config: TokensConfig, scale: str, **steps: int) -> TokensConfig:
    return replace(config, steps=steps[scale]) if scale in steps else config


def _scaling(scale: str) -> list[Point]:
    config = _steps(base(scale), scale, paper=10 * K, quick=K, brief=K // 2)
    few = {"smoke": (3, 4), "brief": (3, 5, 10)}
    lengths = few.get(scale) or _some(scale, LENGTHS, (5, 10, 20))
    sizes: list[tuple[str, Any]] = [("length", length) for length in lengths]
    sizes += [("vocabulary", size) for size in _some(scale, VOCABULARIES, (2, 8, 32))]
    return [p for field, n in sizes for p in compared(replace(config, **{field: n}), field)]


def _tuning(scale: str) -> list[Point]:
    """The grids of PPO and PMPO with PPO's four passes, and PMPO's preferences with one pass.

    With one pass KL has no gradient, and PPO no use for its clip. The rivals add the default clip
    and preference.
    """
    config = base(scale)
    penalties = _some(scale, PENALTIES, (0.0, 0.1))
    clips = [f"ppo:clip={clip}" for clip in _some(scale, CLIPS, (0.4,))]
    preferences = [f"pmpo:preference={p}" for p in _some(scale, PREFERENCES, (1.0,))]
    ppo, once = replace(config, **SETTINGS["ppo"]), replace(config, **SETTINGS["pmpo"])
    pmpo = replace(once, epochs=ppo.epochs)
    tried = [replace(ppo, method=m, kl=kl) for m in clips for kl in penalties]
    tried += [replace(pmpo, method=m, kl=kl) for m in preferences for kl in penalties]
    tried += [replace(once, method=m) for m in preferences]
    return [*(Point(c, "rival", "kl") for c in tried), *compared(config)]


def _rate(scale: str) -> list[Point]:
    rates = _some(scale, RATES, (3e-4, 1e-3))
    points = compared(base(scale), "learning_rate")
    return [p._replace(config=replace(p.config, learning_rate=r)) for r in rates for p in points]


def _extended(scale: str) -> list[Point]:
    return compared(_steps(base(scale), scale, paper=10 * K, quick=1200))


def _variants(scale: str) -> list[Point]:
    config = _steps(base(scale), scale, quick=200)
    kinds = [(task, reward) for reward in ("bag", "sequential") for task in TASKS]
    return [p for task, r in kinds for p in compared(replace(config, task=task, reward=r))]


def _all_or_nothing(scale: str) -> list[Point]:
    config = replace(base(scale), reward="all")
    lengths = (3,) if scale == "smoke" else _some(scale, (5, 10), (10,))
    return [point for length in lengths for point in compared(replace(config, length=length))]


def _additive(scale: str) -> list[Point]:
    mixtures = [
        f"additive:alpha={alpha},temperature={eta}"
        for eta in _some(scale, TEMPERATURES, (0.5, 2.0))
        for alpha in _some(scale, ALPHAS, (0.0, 0.5, 1.0))
    ]
    config = replace(base(scale), **SETTINGS["dg"])
    rivals = [Point(replace(config, method=mixture), "rival", "alpha") for mixture in mixtures]
    return [*rivals, *compared(base(scale))]


_SEEDS = {"smoke": 2, "quick": 2, "paper": 30}


def _sweep(name: str, points: Callable[[str], list[Point]], **seeds: int) -> Sweep:
    """Of actors that always have the learner's parameters: the paper's actors run in parallel, and
    it does not say how old theirs are."""
    return Sweep(f"tokens/{name}", TRAIN, points, _SEEDS | seeds, reading="fresh actors")


CURVES = _sweep("curves", lambda scale: compared(base(scale)), quick=4)
SCALING = _sweep("scaling", _scaling, brief=2)
TUNING = _sweep("tuning", _tuning)
RATE = _sweep("learning-rate", _rate)
EXTENDED = _sweep("extended", _extended)
VARIANTS = _sweep("variants", _variants)
ALL_OR_NOTHING = _sweep("all-or-nothing", _all_or_nothing)
ADDITIVE = _sweep("additive", _additive)

SWEEPS = (CURVES, SCALING, TUNING, RATE, EXTENDED, VARIANTS, ALL_OR_NOTHING, ADDITIVE)
