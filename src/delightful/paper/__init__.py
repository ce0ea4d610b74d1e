"""The experiments, by name: the paper's, and beyond it. A new one is a folder and a word here.

They are imported when they are asked for: a worker needs one program, and neither tables nor
figures.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from delightful.lab.experiment import Experiment

    EXPERIMENTS: dict[str, Experiment]

TITLE = "Delightful Policy Gradient: the paper, checked"  # of a report on these experiments
NAMES = ("gate", "bandit", "contexts", "mnist", "tokens", "control", "stacks", "frictions")


def __getattr__(name: str) -> Any:
    if name != "EXPERIMENTS":
        raise AttributeError(name)
    found = {one: importlib.import_module(f"{__name__}.{one}").EXPERIMENT for one in NAMES}
    globals()["EXPERIMENTS"] = found
    return found
