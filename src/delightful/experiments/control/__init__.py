"""Section 6 and Appendix E: continuous control, with Retrace and replay.

EXPERIMENT is imported when it is asked for: the actors' processes import this package, and need
neither tables nor figures.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from delightful.experiments.control.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]


def __getattr__(name: str) -> Any:
    if name != "EXPERIMENT":
        raise AttributeError(name)
    from delightful.experiments.control.experiment import EXPERIMENT

    return EXPERIMENT
