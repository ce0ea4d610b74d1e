"""Comparing two pieces of code on a machine that is never quite quiet."""

import time
from collections.abc import Callable

import numpy as np

from delightful.lab.statistics import Estimate, bootstrap


def ratio(new: Callable[[], object], old: Callable[[], object], rounds: int) -> Estimate:
    """How many times longer `new` takes than `old`: the median over paired, alternating runs."""
    seconds_new, seconds_old = alternating(new, old, rounds, warm=3)
    return bootstrap(seconds_new / seconds_old, np.median)


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
        if i % 2:
            first, second = seconds(new), seconds(old)
            pairs.append((first, second))
        else:
            first, second = seconds(old), seconds(new)
            pairs.append((second, first))
    of_new, of_old = np.array(pairs).T
    return of_new, of_old


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
