"""Which configs and seeds the contexts' figures and claims need, at each scale."""

from delightful.lab.cells import Point, Sweep
from delightful.paper.contexts.config import TRAIN, ContextsConfig


def _training(scale: str) -> list[Point]:
    steps = 20 if scale == "smoke" else ContextsConfig().steps
    roles = {"pg": "rival", "dg": "main", "ce": "supervised"}
    return [Point(ContextsConfig(method=name, steps=steps), role) for name, role in roles.items()]


TRAINING = Sweep("contexts/training", TRAIN, _training, {"smoke": 4, "quick": 25, "paper": 100})

SWEEPS = (TRAINING,)
