"""Which configs and seeds the MNIST figures and claims need, at each scale.

The quick scale trains as long as the paper does, over fewer seeds, so that its runs count towards
the paper's scale; only the widest networks and the largest batches are trained for less. It has
fewer numbers of samples, and the brief scale fewer still.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

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


def _base(scale: str) -> MnistConfig:
    return _SMOKE if scale == "smoke" else MnistConfig()


def _varied(scale: str, **values: Sequence[Any]) -> list[MnistConfig]:
    """The defaults of a scale with every combination of these values."""
    changes = [dict(zip(values, each, strict=True)) for each in product(*values.values())]
    return [replace(_base(scale), **change) for change in changes]


def _both(configs: Sequence[MnistConfig], varied: str = DEFAULT) -> list[Point]:
    """PG and DG with each config."""
    roles = {"pg": "rival", "dg": "main"}
    return [Point(replace(c, method=m), roles[m], varied) for c in configs for m in roles]


def _exact(method: str, config: MnistConfig) -> Point:
    """Exact expectations, which no baseline changes: CE's is supervised, PG's is its oracle."""
    role = {"ce": "supervised", "pg": "oracle"}[method]
    return Point(replace(config, method=method, samples=0, baseline="zero"), role)


def _curves(scale: str) -> list[Point]:
    return [*_both([_base(scale)]), _exact("ce", _base(scale))]


def _limit(scale: str) -> list[Point]:
    samples = {"smoke": (1, 3), "brief": (1, 100), "quick": (1, 10, 100)}.get(scale, SAMPLES)
    baselines = ("zero", "expected") if scale == "smoke" else BASELINES
    varied = _varied(scale, baseline=baselines, samples=samples)
    return [_exact("pg", _base(scale)), *_both(varied, "samples")]


def _alignment(scale: str) -> list[Point]:
    return _both(_varied(scale, samples=(1, 3 if scale == "smoke" else 100)), "samples")


def _temperature(scale: str) -> list[Point]:
    gated = _varied(scale, method=[f"dg:temperature={eta}" for eta in TEMPERATURES])
    return [*_both([_base(scale)]), *(Point(config, "main", "temperature") for config in gated)]


def _entropy(scale: str) -> list[Point]:
    bonus = _varied(scale, method=["pg"], entropy=ENTROPIES)
    return [*_temperature(scale), *(Point(config, "rival", "entropy") for config in bonus)]


def _rate(scale: str) -> list[Point]:
    rates = (1e-4, 1e-3) if scale == "smoke" else RATES
    baselines = BASELINES if scale == "paper" else ("expected",)
    return _both(_varied(scale, baseline=baselines, learning_rate=rates), "learning_rate")


def _sizes(field: str, values: Sequence[int], smoke: Sequence[int], scale: str) -> list[Point]:
    if scale == "quick" and field == "width":
        values = [width for width in values if width < 2048]  # which would take longest of all
    varied = _varied(scale, **{field: smoke if scale == "smoke" else values})
    return _both([_affordable(config, scale) for config in varied], field)


def _affordable(config: MnistConfig, scale: str) -> MnistConfig:
    """At the quick scale, a run of more than half a minute has fewer steps and records."""
    if scale != "quick" or TRAIN.seconds(config) <= 30:
        return config
    shorter = [replace(config, steps=steps, records=5) for steps in (2000, 500)]
    return next((c for c in shorter if TRAIN.seconds(c) <= 30), shorter[-1])


def _structure(scale: str) -> list[Point]:
    mixtures = _varied(scale, method=[f"additive:alpha={alpha}" for alpha in ALPHAS])
    powers = _varied(scale, method=[f"exponent:beta={beta}" for beta in BETAS])
    rivals = [*((c, "alpha") for c in mixtures), *((c, "beta") for c in powers)]
    return [*_both([_base(scale)]), *(Point(c, "rival", option) for c, option in rivals)]


def _depth(scale: str) -> list[Point]:
    depths = _varied(scale, layers=(2, 1))
    return [point for c in depths for point in (*_both([c]), _exact("ce", c), _exact("pg", c))]


_SEEDS = {"smoke": 2, "quick": 3, "paper": 100}


def _two_layers(name: str, points: Callable[[str], list[Point]], **seeds: int) -> Sweep:
    """A sweep with the default network, which is a reading of the paper: see the claims."""
    return Sweep(f"mnist/{name}", TRAIN, points, _SEEDS | seeds, reading="two hidden layers")


CURVES = _two_layers("curves", _curves)
LIMIT = _two_layers("limit", _limit, brief=3)
ALIGNMENT = _two_layers("alignment", _alignment)
TEMPERATURE = _two_layers("temperature", _temperature)
ENTROPY = _two_layers("entropy", _entropy)
RATE = _two_layers("learning-rate", _rate)
BATCH = _two_layers("batch", partial(_sizes, "batch", BATCHES, (1, 100)))
WIDTH = _two_layers("width", partial(_sizes, "width", WIDTHS, (1, 4, 16)))
STRUCTURE = _two_layers("structure", _structure)
DEPTH = Sweep("mnist/depth", TRAIN, _depth, _SEEDS)

SWEEPS = (CURVES, LIMIT, ALIGNMENT, TEMPERATURE, ENTROPY, RATE, BATCH, WIDTH, STRUCTURE, DEPTH)
