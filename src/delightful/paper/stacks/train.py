"""A run of any framework, as curves: the mean score of what was finished since the last record."""

import contextlib
import importlib
import os
import warnings
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from delightful.lab.cells import Curves
from delightful.lab.errors import LabError
from delightful.paper.stacks.config import Scores, StackConfig
from delightful.plugins.gating import DelightConfig
from delightful.registry import parse_method


def train(config: StackConfig, seeds: np.ndarray) -> Curves:
    with quiet():
        import torch

        torch.set_num_threads(1)  # one process per core
        stack = importlib.import_module(f"delightful.paper.stacks.{config.stack}")
        if config.task != "reversal":
            import gymnasium

            try:
                gymnasium.spec(config.task)
            except gymnasium.error.Error as error:
                raise LabError(f"task must be one of Gymnasium's: {error}") from None
        delight = gating(config.method)
        scores = [by_record(config, stack.scores(config, delight, int(seed))) for seed in seeds]
    return {"step": record_steps(config), "score": np.stack(scores)}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the frameworks' own lines, which would tear the progress bar; errors still come."""
    with warnings.catch_warnings(), open(os.devnull, "w") as nowhere:
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            yield


def gating(method: str) -> DelightConfig | None:
    """The plug-in's options: gains of 1, so that both arms take steps of a size."""
    found, options = parse_method(method)
    return DelightConfig(**options | {"unit_gain": True}) if found.name == "dg" else None


def record_steps(config: StackConfig) -> np.ndarray:
    return np.linspace(0, config.steps, config.records + 1)[1:].round().astype(np.int32)


def by_record(config: StackConfig, found: Scores) -> np.ndarray:
    """(step, score) pairs as a mean per record; where nothing was finished, the mean before it."""
    steps, values = np.array(found, dtype=np.float64).reshape(-1, 2).T
    means: list[float] = []
    for low, high in pairwise([-1, *record_steps(config)]):
        inside = (steps > low) & (steps <= high)
        means.append(values[inside].mean() if inside.any() else means[-1] if means else values[0])
    return np.array(means)
