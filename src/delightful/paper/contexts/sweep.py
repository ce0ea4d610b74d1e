"""Which configs and seeds the contexts' figures and claims need, at each scale."""

from delightful.lab.cells import Sweep
from delightful.paper.contexts.config import TRAIN, ContextsConfig


def _training(scale: str) -> list[ContextsConfig]:
    steps = 20 if scale == "smoke" else ContextsConfig().steps
    return [ContextsConfig(method=method, steps=steps) for method in ("pg", "dg", "ce")]


TRAINING = Sweep("contexts/training", TRAIN, _training, {"smoke": 4, "quick": 25, "paper": 100})

SWEEPS = (TRAINING,)
