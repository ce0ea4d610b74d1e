"""The settings of each reading and method, chosen on one grid for all: see docs/control.md.

A KL term that is weak enough for one method can be too weak for another, so under `replayed` every
method has the weight that is best for it on the two tasks of `control/grid`, which no claim uses.
"""

from typing import Any

from delightful.agents.control.config import ControlConfig

SHARED: dict[str, dict[str, Any]] = {
    "fresh": {"draws": 4, "kl": 6.0, "kl_deviation": 200.0},
    "replayed": {"draws": 2},
}
"""By reading, what all methods have in common, beyond the defaults of `ControlConfig`."""

KL: dict[str, float] = {"pg": 6.0, "ppo": 2.0, "mpo": 2.0, "dg": 2.0}
"""By method, the coefficient of KL for the mean, under `replayed`."""

DEVIATION_OVER_MEAN = 40.0  # the coefficient of KL for the deviation, over that for the mean


def settings(reading: str, method: str) -> dict[str, Any]:
    """Config fields of a method under a reading; a method that was not tuned has DG's."""
    found = {"reading": reading, "method": method, **SHARED[reading]}
    if reading == "replayed":
        kl = KL.get(method.partition(":")[0], KL["dg"])
        found |= {"kl": kl, "kl_deviation": DEVIATION_OVER_MEAN * kl}
    return found


def configured(method: str, reading: str = ControlConfig().reading, **fields: Any) -> ControlConfig:
    """The config of a method, with its own settings where `fields` have none."""
    return ControlConfig(**settings(reading, method) | fields)
