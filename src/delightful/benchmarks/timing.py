"""Comparing two pieces of code on a machine that is never quite quiet."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from delightful.lab.statistics import median_interval


def median(name: str, rounds: np.ndarray) -> dict[str, Any]:
    """The median over rounds as the figure `name`, and its 95% interval."""
    middle = median_interval(rounds)
    return {name: middle.value, f"{name}_interval": [middle.low, middle.high]}


def shown(figures: dict[str, Any], name: str, digits: int = 2) -> str:
    """A figure of `median` as text: value [low, high]."""
    low, high = figures[f"{name}_interval"]
    return f"{figures[name]:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def reached(
    figures: dict[str, Any], name: str, *, least: float = -math.inf, most: float = math.inf
) -> str:
    """Whether a figure of `median` is held to a goal, by its whole interval."""
    low, high = figures[f"{name}_interval"]
    held, missed = least <= low and high <= most, high < least or low > most
    return "held" if held else "missed" if missed else "neither held nor missed"


def alternating(
    new: Callable[[], object], old: Callable[[], object], rounds: int, *, warm: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """The seconds that each takes, round by round, after `warm` runs that do not count.

    A disturbance that lasts hits both of a pair, and one that does not is an outlier among the
    pairs; alternating who goes first keeps caches from favouring one.
    """
    for _ in range(warm):
        new()
        old()
    pairs = []
    for i in range(rounds):
        took = {run: seconds(run) for run in ((new, old) if i % 2 else (old, new))}
        pairs.append((took[new], took[old]))
    of_new, of_old = np.array(pairs).T
    return of_new, of_old


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
