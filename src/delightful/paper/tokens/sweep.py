"""Which configs and seeds the figures and claims of Token Reversal need, at each scale.

Every sweep is there twice: with actors whose parameters are as old as in a distributed system, and
with actors that always have the learner's. The quick scale has fewer values and seeds, and most of
its runs are shorter than the paper's; those that are not are the first seeds of the paper's.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from delightful.agents.tokens.config import TASKS, TokensConfig
from delightful.lab.cells import DEFAULT, Point, Sweep
from delightful.paper.tokens.config import TRAIN

K = TokensConfig().steps
RATES = (1e-4, 3e-4, 1e-3, 3e-3)
LENGTHS = (5, 10, 20, 40)
VOCABULARIES = (2, 4, 8, 16, 32, 64)
CLIPS = (0.05, 0.1, 0.2, 0.4, 0.8)
PENALTIES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
PREFERENCES = (0.0, 0.25, 0.5, 0.75, 1.0)
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
TEMPERATURES = (0.2, 0.5, 1.0, 2.0, 5.0)
DELAYS = (0, 1, 3, 10, 30, 100)
_WIDE = (3e-5, *RATES, 1e-2)  # the older the actors, the smaller some methods' best rate

_SMOKE = TokensConfig(
    length=3, prompts=2, samples=4, width=8, layers=1, heads=1, feedforward=8, steps=8, records=4
)


@dataclass(frozen=True)
class Actors:
    """How old the actors' parameters are, and the settings of DG and its rivals with them.

    Learning rates are the best of Figure 21a's grid, for each method on its own: the lowest mean
    regret over the same seeds, 16 with stale actors. With 8, DG's and PG's next larger rates looked
    better: a run in four breaks down there, and few of the first 8 did.
    """

    reading: str
    delay: int
    settings: dict[str, dict[str, Any]]
    quick: int = K  # steps at the quick scale

    def base(self, scale: str) -> TokensConfig:
        """The defaults of a scale."""
        config = _SMOKE if scale == "smoke" else TokensConfig()
        return _aged(_steps(config, scale, quick=self.quick), self.delay)

    def compared(self, config: TokensConfig, varied: str = DEFAULT) -> list[Point]:
        """DG and its rivals, each with its own settings."""
        return [
            Point(replace(config, method=name, **own), "main" if name == "dg" else "rival", varied)
            for name, own in self.settings.items()
        ]


WITH_FRESH = Actors(
    "fresh actors",
    0,
    {
        "pg": {"learning_rate": 3e-4, "epochs": 1},
        # Its ratios are 1 in the first pass, where PPO is REINFORCE: four passes, as it is used.
        "ppo": {"learning_rate": 3e-4, "epochs": 4},
        "pmpo": {"learning_rate": 3e-4, "epochs": 1},
        "dg": {"learning_rate": 1e-3, "epochs": 1},
    },
    quick=400,
)
MEASURED_STALENESS = (
    "batches of our own actor–learner with 10 actors are 1.21 updates old on average when they "
    "are used (`delightful train tokens:reverse-copy --actors 10 --steps 1000` on 2 cores; "
    "docs/results/actor-learner/summary.json); of the delays in tokens/staleness, D = 3 has the "
    "nearest mean, 1.5"
)
WITH_STALE = Actors(
    "actors up to 3 updates old",
    3,
    {
        "pg": {"learning_rate": 3e-4, "epochs": 1},
        "ppo": {"learning_rate": 1e-3, "epochs": 1},
        "pmpo": {"learning_rate": 3e-4, "epochs": 1},
        "dg": {"learning_rate": 1e-3, "epochs": 1},
    },
)


def _aged(config: TokensConfig, delay: int, ages: str = "uniform") -> TokensConfig:
    """With actors up to `delay` updates old."""
    return replace(config, delay=delay, ages=ages) if delay else config


def _some(scale: str, values: tuple[Any, ...], quick: tuple[Any, ...]) -> tuple[Any, ...]:
    """All values at the paper's scale, some at the quick one, two of those for a smoke test."""
    return {"paper": values, "smoke": quick[:2]}.get(scale, quick)


def _steps(config: TokensConfig, scale: str, **steps: int) -> TokensConfig:
    return replace(config, steps=steps[scale]) if scale in steps else config


def _curves(actors: Actors, scale: str) -> list[Point]:
    return actors.compared(actors.base(scale))


def _scaling(actors: Actors, scale: str) -> list[Point]:
    config = _steps(actors.base(scale), scale, paper=10 * K, quick=400, brief=400)
    few = {"smoke": (3, 4), "brief": (3, 5, 10)}
    lengths = few.get(scale) or _some(scale, LENGTHS, (5, 10, 20))
    sizes: list[tuple[str, Any]] = [("length", length) for length in lengths]
    sizes += [("vocabulary", size) for size in _some(scale, VOCABULARIES, (2, 8, 32))]
    return [p for field, n in sizes for p in actors.compared(replace(config, **{field: n}), field)]


def _tuning(actors: Actors, scale: str) -> list[Point]:
    """The grids of PPO and PMPO with PPO's passes, and PMPO's preferences with one pass.

    With fresh actors and one pass KL has no gradient, and PPO no use for its clip. The rivals add
    the default clip and preference.
    """
    config = actors.base(scale)
    penalties = _some(scale, PENALTIES, (0.0, 0.1))
    clips = [f"ppo:clip={clip}" for clip in _some(scale, CLIPS, (0.4,))]
    preferences = [f"pmpo:preference={p}" for p in _some(scale, PREFERENCES, (1.0,))]
    ppo, once = (replace(config, **actors.settings[name]) for name in ("ppo", "pmpo"))
    pmpo = replace(once, epochs=ppo.epochs)
    tried = [replace(ppo, method=m, kl=kl) for m in clips for kl in penalties]
    tried += [replace(pmpo, method=m, kl=kl) for m in preferences for kl in penalties]
    tried += [replace(once, method=m) for m in preferences]
    return [*(Point(c, "rival", "kl") for c in tried), *actors.compared(config)]


def _rate(actors: Actors, scale: str) -> list[Point]:
    rates = _some(scale, RATES, (3e-4, 1e-3))
    points = actors.compared(_steps(actors.base(scale), scale, quick=K), "learning_rate")
    return [p._replace(config=replace(p.config, learning_rate=r)) for r in rates for p in points]


def _extended(actors: Actors, scale: str) -> list[Point]:
    return actors.compared(_steps(actors.base(scale), scale, paper=10 * K))


def _variants(actors: Actors, scale: str) -> list[Point]:
    config = _steps(actors.base(scale), scale, quick=200)
    kinds = [(task, reward) for reward in ("bag", "sequential") for task in TASKS]
    return [p for task, r in kinds for p in actors.compared(replace(config, task=task, reward=r))]


def _additive(actors: Actors, scale: str) -> list[Point]:
    """Every mixture at several learning rates, since each of the others has its own best one."""
    mixtures = [
        f"additive:alpha={alpha},temperature={eta}"
        for eta in _some(scale, TEMPERATURES, (1.0,))
        for alpha in _some(scale, ALPHAS, (0.0, 0.5))
    ]
    base = _steps(actors.base(scale), scale, quick=K)
    config = replace(base, epochs=1)
    rivals = [
        Point(replace(config, method=mixture, learning_rate=rate), "rival", "alpha")
        for mixture in mixtures
        for rate in _some(scale, RATES[1:], (3e-4, 1e-3))  # at 10⁻⁴ nothing is best in 1,000 steps
    ]
    return [*rivals, *actors.compared(base)]


# The quick scale shows every figure. With stale actors it has a first verdict too, from 3 seeds, on
# the main text and the mixtures, and one from 7 on Figure 8. Seeds come in blocks of 2.
_SHOWN = {"smoke": 2, "quick": 2, "paper": 30}
_SEEDS = _SHOWN | {"quick": 4}
_DECIDING = _SHOWN | {"quick": 8}


class Sweeps(NamedTuple):
    """The sweeps of Section 5 and Appendix D, with actors of one kind."""

    curves: Sweep
    scaling: Sweep
    tuning: Sweep
    rate: Sweep
    extended: Sweep
    variants: Sweep
    additive: Sweep


def _sweeps(actors: Actors, suffix: str) -> Sweeps:
    points: dict[str, Callable[[Actors, str], list[Point]]] = {
        "curves": _curves,
        "scaling": _scaling,
        "tuning": _tuning,
        "learning-rate": _rate,
        "extended": _extended,
        "variants": _variants,
        "additive": _additive,
    }
    stale = dict.fromkeys(("scaling", "additive"), _SEEDS) | {"curves": _DECIDING}
    seeds = {name: stale.get(name, _SHOWN) if actors.delay else _SHOWN for name in points}
    seeds["scaling"] = seeds["scaling"] | {"brief": 2}
    return Sweeps(
        *(
            Sweep(
                f"tokens/{name}{suffix}",
                TRAIN,
                partial(of, actors),
                seeds[name],
                reading=actors.reading,
            )
            for name, of in points.items()
        )
    )


def _all_or_nothing(scale: str) -> list[Point]:
    config = replace(_steps(WITH_FRESH.base(scale), scale, quick=K), reward="all")
    lengths = (3,) if scale == "smoke" else _some(scale, (5, 10), (10,))
    return [p for length in lengths for p in WITH_FRESH.compared(replace(config, length=length))]


def _staleness(scale: str) -> list[Point]:
    """Every method, and PMPO that learns from successes alone, at every delay and rate."""
    settings = {**WITH_STALE.settings, "pmpo:preference=1.0": WITH_STALE.settings["pmpo"]}
    actors = replace(WITH_STALE, settings=settings)
    config = WITH_FRESH.base(scale)
    return [
        p._replace(config=replace(p.config, learning_rate=rate))
        for delay in _some(scale, DELAYS, (0, 10))
        for rate in _some(scale, _WIDE, (1e-3,))
        for p in actors.compared(_aged(config, delay), "delay")
    ]


AUTHOR: dict[str, Any] = {
    "layers": 3,
    "heads": 4,
    "final_norm": False,
    "learning_rate": 3e-4,
    "epochs": 1,
}
"""The settings of the author's public code, where they differ from the paper's or from ours."""


def _author(scale: str) -> list[Point]:
    """What the author's code was run with: every loss with fresh actors and with stale ones, of
    which a batch has one age."""
    small = {"layers": 1, "heads": 1} if scale == "smoke" else {}
    methods = [*WITH_STALE.settings, "pmpo:preference=1.0"]
    config = _SMOKE if scale == "smoke" else _steps(TokensConfig(), scale, quick=100)
    return [
        Point(
            replace(_aged(config, delay, "batch"), method=method, **AUTHOR | small),
            "main" if method == "dg" else "rival",
            "delay",
        )
        for delay in (0, 10)
        for method in methods
    ]


STALE, FRESH = _sweeps(WITH_STALE, ""), _sweeps(WITH_FRESH, "-fresh")
STALENESS = Sweep("tokens/staleness", TRAIN, _staleness, _SHOWN, in_part=True)
ALL_OR_NOTHING = Sweep(
    "tokens/all-or-nothing", TRAIN, _all_or_nothing, _SHOWN, reading="fresh actors"
)

AUTHORS = Sweep("tokens/author", TRAIN, _author, _SHOWN)

SWEEPS = (*STALE, *FRESH, STALENESS, AUTHORS, ALL_OR_NOTHING)
