"""Which configs and seeds the figures and claims need, at each scale."""

from delightful.lab.cells import Point, Sweep
from delightful.paper.experiment.config import TRAIN, ArmsConfig


def _training(scale: str) -> list[Point]:
    steps = 10 if scale == "smoke" else ArmsConfig().steps
    roles = {"pg": "rival", "dg": "main"}
    return [Point(ArmsConfig(method=name, steps=steps), role) for name, role in roles.items()]


TRAINING = Sweep("experiment/training", TRAIN, _training, {"smoke": 2, "quick": 25, "paper": 100})

SWEEPS = (TRAINING,)
