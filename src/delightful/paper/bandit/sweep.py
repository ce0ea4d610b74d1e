"""Which configs and seeds the bandit's figures and claims need, at each scale."""

from dataclasses import replace

from delightful.lab.cells import Point, Sweep
from delightful.paper.bandit.config import ALIGN, TRAIN, AlignmentConfig, BanditConfig

_METHODS = (("pg", "rival"), ("dg", "main"))
_TEMPERATURES = (0.1, 0.3, 1.0, 3.0, 10.0)


def _training(scale: str) -> list[Point]:
    steps = 20 if scale == "smoke" else BanditConfig().steps
    return [Point(BanditConfig(method=method, steps=steps), role) for method, role in _METHODS]


def _robustness(scale: str) -> list[Point]:
    base = _training(scale)
    # Each number of actions and each batch is a program of its own to compile.
    actions, batches = ((10,), (10,)) if scale == "smoke" else ((3, 10, 30, 300), (1, 10, 1000))
    values = {"actions": actions, "batch": batches, "baseline": (0.0, 0.1, 0.9, 1.0)}
    varied = [
        Point(replace(config, **{name: value}), role, name)
        for name, others in values.items()
        for value in (getattr(BanditConfig(), name), *others)
        for config, role, *_ in base
    ]
    heats = [replace(base[-1].config, method=f"dg:temperature={eta}") for eta in _TEMPERATURES]
    return [*base, *varied, *(Point(config, "main", "temperature") for config in heats)]


def _alignment(_: str) -> list[Point]:
    return [
        Point(AlignmentConfig(method=method, error=error, batch=batch), role)
        for error in (0.5, 0.1)
        for batch in (1, 10, 100, 1000, 10_000, 100_000)
        for method, role in _METHODS
    ]


TRAINING = Sweep("bandit/training", TRAIN, _training, {"smoke": 4, "quick": 30, "paper": 100})
ROBUSTNESS = Sweep("bandit/robustness", TRAIN, _robustness, {"smoke": 2, "quick": 10, "paper": 100})
ALIGNMENT = Sweep("bandit/alignment", ALIGN, _alignment, {"smoke": 20, "quick": 200, "paper": 1000})

SWEEPS = (TRAINING, ROBUSTNESS, ALIGNMENT)
