"""Claims of Section 5.

Methods are compared after the same number of gradient steps, the paper's "same compute budget", and
after the same number of episodes, when PPO has made four times the gradient steps. A claim is
reproduced if it holds both ways, and partly if it holds one way. The value shown is that per
gradient step.
"""

from collections.abc import Callable

import numpy as np
import polars as pl

from delightful.lab.experiment import ClaimBook, Finding, NotMeasuredError, found
from delightful.lab.plotting import label
from delightful.lab.statistics import bootstrap
from delightful.paper.comparisons import Gaps, listed, lower, narrowest, positive
from delightful.paper.tokens import sweep
from delightful.paper.tokens.runs import at_equal_updates, by_seed, ends, power_laws, rivals, scaled

claims = ClaimBook("tokens")

SIZES = {"length": "H", "vocabulary": "M"}


def both_ways(
    table: pl.DataFrame,
    what: str,
    gaps: Callable[[pl.DataFrame], Gaps],
    *,
    enough: bool = True,
    nearly: Callable[[Gaps], bool] = positive,
    note: str = "",
) -> Finding:
    """Whether all `gaps`, of rows such as `ends` gives, are clearly positive, by both measures.

    enough: whether the runs can decide the claim; else it is partly reproduced at most.
    nearly: when gaps per gradient step that are not all positive still make it partly reproduced.
    """
    early = at_equal_updates(table)
    by_update, by_episode = gaps(early), gaps(ends(table))
    worst = narrowest(by_update)
    updates = max(early["updates"].to_list())
    words = f"per gradient step: {listed(by_update)}; per episode: {listed(by_episode)}"
    return found(
        f"{what}, {worst}, after {updates} gradient steps",
        by_update[worst],
        enough and positive(by_update) and positive(by_episode),
        partly=positive(by_update) or positive(by_episode) or nearly(by_update),
        note=f"{words}; {note}" if note else words,
    )


def over_dg(metric: str) -> Callable[[pl.DataFrame], Gaps]:
    """`metric` of each baseline − DG's."""

    def gaps(rows: pl.DataFrame) -> Gaps:
        runs = {spec: by_seed(rows, metric, method=spec) for spec in rivals(rows)}
        return {label(spec): lower(runs[spec], runs["dg"]) for spec in runs if spec != "dg"}

    return gaps


@claims.add("Section 5, Figure 8", paper="> 0", sweep=sweep.CURVES)
def faster(table: pl.DataFrame) -> Finding:
    """DG converges faster than all baselines."""
    return both_ways(table, "average error, baseline − DG", over_dg("regret"))


def last_errors(table: pl.DataFrame, *, enough: bool = True) -> Finding:
    """Error over the last record, each baseline's − DG's."""
    errors = {spec: by_seed(ends(table), "error", method=spec) for spec in rivals(table)}
    means = "; ".join(
        f"{label(spec)} {runs.mean():.2g} ({np.median(runs):.2g})" for spec, runs in errors.items()
    )
    note = f"mean (median) after {max(table['steps'].to_list())} batches: {means}"
    gaps = over_dg("error")
    return both_ways(table, "error, baseline − DG", gaps, enough=enough, note=note)


@claims.add("Section 5, Figure 8", paper="> 0", sweep=sweep.CURVES)
def lower_error(table: pl.DataFrame) -> Finding:
    """DG reaches lower sequence error than all baselines."""
    return last_errors(table)


Runs = dict[str, dict[int, np.ndarray]]
"""Numbers, one per seed, by method and size."""


def _by_size(rows: pl.DataFrame, field: str, metric: str) -> Runs:
    runs = scaled(rows, field, metric, rivals(rows))
    if len(runs["dg"]) < 2:
        raise NotMeasuredError(f"it needs runs of several values of {field}")
    return runs


def _along(runs: Runs, field: str) -> str:
    sizes = ", ".join(map(str, sorted(runs["dg"])))
    values = "; ".join(
        f"{label(spec)} {' → '.join(f'{x.mean():.3f}' for x in by_size.values())}"
        for spec, by_size in runs.items()
    )
    return f"at {SIZES[field]} = {sizes}: {values}"


def _rise(table: pl.DataFrame, field: str) -> Finding:
    """How much more than DG's the final error of each baseline rises from the smallest size to the
    largest."""

    def gaps(rows: pl.DataFrame) -> Gaps:
        runs = _by_size(rows, field, "error")
        rises = {spec: by[max(by)] - by[min(by)] for spec, by in runs.items()}
        return {label(spec): lower(rises[spec], rises["dg"]) for spec in rises if spec != "dg"}

    note = f"final error {_along(_by_size(ends(table), field, 'error'), field)}"
    return both_ways(table, "rise of the error, baseline − DG", gaps, note=note)


@claims.add("Section 5, Figure 9a", paper="> 0", sweep=sweep.SCALING)
def graceful_length(table: pl.DataFrame) -> Finding:
    """With the horizon, baseline performance deteriorates rapidly beyond a threshold, whereas DG
    degrades much more gracefully."""
    return _rise(table, "length")


@claims.add("Section 5, Figure 9b", paper="> 0", sweep=sweep.SCALING)
def graceful_vocabulary(table: pl.DataFrame) -> Finding:
    """With the vocabulary, baseline performance deteriorates rapidly beyond a threshold, whereas DG
    degrades much more gracefully."""
    return _rise(table, "vocabulary")


def _errors(rows: pl.DataFrame, field: str) -> Runs:
    """The average error, which has a power law only if it is above 0."""
    runs = _by_size(rows, field, "regret")
    if min(x.min() for by_size in runs.values() for x in by_size.values()) <= 0:
        raise NotMeasuredError("a power law needs errors above 0, and a run made none")
    return runs


def _exponent(table: pl.DataFrame, field: str) -> Finding:
    """The exponent of the average error in a size, each baseline's − DG's; "partly" also if DG's is
    the smallest, though not clearly.

    A method at chance everywhere would have one near 0: the note gives the errors themselves.
    """

    def slopes(rows: pl.DataFrame) -> dict[str, np.ndarray]:
        return {spec: power_laws(runs)[0] for spec, runs in _errors(rows, field).items()}

    def gaps(rows: pl.DataFrame) -> Gaps:
        fitted = slopes(rows)
        return {label(spec): lower(fitted[spec], fitted["dg"]) for spec in fitted if spec != "dg"}

    rows = ends(table)
    each = listed({label(spec): bootstrap(of_seeds) for spec, of_seeds in slopes(rows).items()})
    errors = _along(_by_size(rows, field, "regret"), field)
    return both_ways(
        table,
        f"exponent in {SIZES[field]}, baseline − DG",
        gaps,
        nearly=lambda found: all(gap.value > 0 for gap in found.values()),
        note=f"exponents per episode: {each}; average error {errors}",
    )


@claims.add("Section 5, Figure 9c", paper="> 0", sweep=sweep.SCALING)
def exponent_length(table: pl.DataFrame) -> Finding:
    """DG achieves a smaller scaling exponent in the horizon."""
    return _exponent(table, "length")


@claims.add("Section 5, Figure 9d", paper="> 0", sweep=sweep.SCALING)
def exponent_vocabulary(table: pl.DataFrame) -> Finding:
    """DG achieves a smaller scaling exponent in the vocabulary."""
    return _exponent(table, "vocabulary")


@claims.add("Section 5, Figure 9c–d", paper="≈ 1", sweep=sweep.SCALING)
def power_law(table: pl.DataFrame) -> Finding:
    """The log-log plots reveal approximate power-law scaling.

    R² of the line through the mean log errors after as many episodes; "approximate" is at least
    0.9 for every method and size, "partly" for half of them.
    """
    fits = {}
    for field, symbol in SIZES.items():
        for spec, by_size in _errors(ends(table), field).items():
            if len(by_size) < 3:
                raise NotMeasuredError("it needs at least three sizes")
            x, y = np.log(list(by_size)), [np.log(runs).mean() for runs in by_size.values()]
            flat = np.ptp(y) == 0  # a line through equal points is perfect, if no law of scaling
            fits[f"{label(spec)} in {symbol}"] = 1.0 if flat else np.corrcoef(x, y)[0, 1] ** 2
    worst = min(fits, key=lambda name: fits[name])
    good = [fit >= 0.9 for fit in fits.values()]
    note = "; ".join(f"{name} {fit:.3f}" for name, fit in fits.items())
    holds, half = all(good), 2 * sum(good) >= len(good)
    return found(f"smallest R² ({worst})", fits[worst], holds, partly=half, note=note)
