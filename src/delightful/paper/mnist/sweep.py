"""Which configs and seeds the MNIST figures and claims need, at each scale.

The quick scale trains as long as the paper does, over fewer seeds, so that its runs count towards
the paper's scale; only the widest networks and the largest batches are trained for less. The brief
scale has fewer baselines and numbers of samples.
"""

from collections.abc import Sequence
from dataclasses import replace

from delightful.lab.cells import DEFAULT, Point, Sweep
from delightful.paper.mnist.config import BASELINES, TRAIN, MnistConfig

SAMPLES = (1, 3, 10, 30, 100)
TEMPERATURES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
ENTROPIES = (1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
RATES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
BATCHES = (1, 10, 100, 1000)
WIDTHS = (1, 4, 16, 64, 256, 1024, 2048)
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
BETAS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)

_SMOKE = MnistConfig(steps=20, records=2, looks=2)


def base(scale: str) -> MnistConfig:
    return _SMOKE if scale == "smoke" else MnistConfig()


def both(config: MnistConfig, varied: str = DEFAULT) -> list[Point]:
    """PG and DG."""
    return [
        Point(replace(config, method="pg"), "rival", varied),
        Point(replace(config, method="dg"), "main", varied),
    ]


def ce(config: MnistConfig) -> Point:
    """Supervised learning: the exact expectation of CE, which no baseline changes."""
    return Point(replace(config, method="ce", samples=0, baseline="zero"), "supervised")


def floor(config: MnistConfig) -> Point:
    """The PG oracle: the exact expectation of PG, which no baseline changes."""
    return Point(replace(config, method="pg", samples=0, baseline="zero"), "oracle")


def _grid(configs: Sequence[MnistConfig], field: str) -> list[Point]:
    return [point for config in configs for point in both(config, field)]


def _curves(scale: str) -> list[Point]:
    return [*both(base(scale)), ce(base(scale))]


def _limit(scale: str) -> list[Point]:
    samples = {"smoke": (1, 3), "brief": (1, 10, 100)}.get(scale, SAMPLES)
    baselines = ("zero", "expected") if scale in ("smoke", "brief") else BASELINES
    varied = [replace(base(scale), baseline=b, samples=s) for b in baselines for s in samples]
    return [floor(base(scale)), *_grid(varied, "samples")]


def _alignment(scale: str) -> list[Point]:
    many = 3 if scale == "smoke" else 100
    return _grid([replace(base(scale), samples=s) for s in (1, many)], "samples")


def _temperature(scale: str) -> list[Point]:
    gated = [replace(base(scale), method=f"dg:temperature={eta}") for eta in TEMPERATURES]
    return [*both(base(scale)), *(Point(config, "main", "temperature") for config in gated)]


def _entropy(scale: str) -> list[Point]:
    bonus = [replace(base(scale), method="pg", entropy=alpha) for alpha in ENTROPIES]
    return [*_temperature(scale), *(Point(config, "rival", "entropy") for config in bonus)]


def _rate(scale: str) -> list[Point]:
    rates = (1e-4, 1e-3) if scale == "smoke" else RATES
    baselines = BASELINES if scale == "paper" else ("expected",)
    return _grid(
        [replace(base(scale), learning_rate=r, baseline=b) for b in baselines for r in rates],
        "learning_rate",
    )


def _batch(scale: str) -> list[Point]:
    sizes = (1, 100) if scale == "smoke" else BATCHES
    varied = [replace(base(scale), batch=size) for size in sizes]
    return _grid([_affordable(config, scale) for config in varied], "batch")


def _width(scale: str) -> list[Point]:
    widths = (1, 4, 16) if scale == "smoke" else WIDTHS
    varied = [replace(base(scale), width=width) for width in widths]
    return _grid([_affordable(config, scale) for config in varied], "width")


def _affordable(config: MnistConfig, scale: str) -> MnistConfig:
    """At the quick scale, a run of more than half a minute has fewer steps and records."""
    if scale != "quick" or TRAIN.seconds(config) <= 30:
        return config
    shorter = [replace(config, steps=steps, records=5) for steps in (2000, 500)]
    return next((c for c in shorter if TRAIN.seconds(c) <= 30), shorter[-1])


def _structure(scale: str) -> list[Point]:
    mixtures = [replace(base(scale), method=f"additive:alpha={alpha}") for alpha in ALPHAS]
    powers = [replace(base(scale), method=f"exponent:beta={beta}") for beta in BETAS]
    return [
        *both(base(scale)),
        *(Point(config, "rival", "alpha") for config in mixtures),
        *(Point(config, "rival", "beta") for config in powers),
    ]


def _depth(scale: str) -> list[Point]:
    depths = (base(scale), replace(base(scale), layers=1))
    return [point for c in depths for point in (*both(c), ce(c), floor(c))]


_SEEDS = {"smoke": 2, "quick": 3, "paper": 100}

CURVES = Sweep("mnist/curves", TRAIN, _curves, _SEEDS)
LIMIT = Sweep("mnist/limit", TRAIN, _limit, _SEEDS | {"brief": 3})
ALIGNMENT = Sweep("mnist/alignment", TRAIN, _alignment, _SEEDS)
TEMPERATURE = Sweep("mnist/temperature", TRAIN, _temperature, _SEEDS)
ENTROPY = Sweep("mnist/entropy", TRAIN, _entropy, _SEEDS)
RATE = Sweep("mnist/learning-rate", TRAIN, _rate, _SEEDS)
BATCH = Sweep("mnist/batch", TRAIN, _batch, _SEEDS)
WIDTH = Sweep("mnist/width", TRAIN, _width, _SEEDS)
STRUCTURE = Sweep("mnist/structure", TRAIN, _structure, _SEEDS)
DEPTH = Sweep("mnist/depth", TRAIN, _depth, _SEEDS)

SWEEPS = (CURVES, LIMIT, ALIGNMENT, TEMPERATURE, ENTROPY, RATE, BATCH, WIDTH, STRUCTURE, DEPTH)
