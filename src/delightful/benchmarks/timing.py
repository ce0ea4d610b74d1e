"""Comparing two pieces of code on a machine that is never quite quiet."""

import time
from collections.abc import Callable

import numpy as np

from delightful.lab.statistics import Estimate, bootstrap


def ratio(new: Callable[[], object], old: Callable[[], object], rounds: int) -> Estimate:
    """How many times longer `new` takes than `old`: the median over paired, alternating runs.

    A disturbance that lasts hits both of a pair, and one that does not is an outlier among the
    pairs; alternating who goes first keeps caches from favouring one.
    """
    for _ in range(3):
        new()
        old()
    ratios = []
    for i in range(rounds):
        if i % 2:
            first, second = _seconds(new), _seconds(old)
            ratios.append(first / second)
        else:
            first, second = _seconds(old), _seconds(new)
            ratios.append(second / first)
    return bootstrap(np.array(ratios), np.median)


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
