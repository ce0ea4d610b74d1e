"""The sentences of Section 5, decided on runs. `robustness.py` has those of Appendix D."""

import numpy as np
import polars as pl

from delightful.experiments.tokens import sweep
from delightful.experiments.tokens.runs import (
    by_seed,
    ends,
    main_runs,
    regret_at_updates,
    rivals,
    scaled,
    shared_updates,
)
from delightful.lab.curves import label
from delightful.lab.experiment import ClaimBook, Finding, NotMeasuredError, found
from delightful.lab.gaps import listed, lower, narrowest, positive
from delightful.lab.statistics import bootstrap

claims = ClaimBook("tokens")

SIZES = {"length": "H", "vocabulary": "M"}


@claims.add(
    "faster",
    "Section 5, Figure 8",
    "DG converges faster than all baselines.",
    paper="> 0",
    sweep=sweep.CURVES,
)
def faster(table: pl.DataFrame) -> Finding:
    """Error averaged over training, least of all baselines − DG, over as many gradient steps (the
    paper's 'same compute budget') and over as many episodes; "partly" if only one of them holds."""
    table = main_runs(table)
    others = [spec for spec in rivals(table) if spec != "dg"]
    updates, rows = shared_updates(table), ends(table)

    def until(spec: str) -> np.ndarray:
        return regret_at_updates(table, updates, method=spec)

    def over_all(spec: str) -> np.ndarray:
        return by_seed(rows, "regret", method=spec)

    by_update = {label(spec): lower(until(spec), until("dg")) for spec in others}
    by_episode = {label(spec): lower(over_all(spec), over_all("dg")) for spec in others}
    worst = narrowest(by_update)
    note = f"per gradient step: {listed(by_update)}; per episode: {listed(by_episode)}"
    return found(
        f"average error over {updates} gradient steps, {worst} − DG",
        by_update[worst],
        positive(by_update) and positive(by_episode),
        partly=positive(by_update) or positive(by_episode),
        note=note,
    )


def last_errors(table: pl.DataFrame, *, long_enough: bool = True) -> Finding:
    """Error over the last record, after as many episodes, least of all baselines − DG.

    "Partly" if DG is clearly below one of them at least, or if the runs are not `long_enough`.
    """
    table = main_runs(table)
    rows, specs = ends(table), rivals(table)
    errors = {spec: by_seed(rows, "error", method=spec) for spec in specs}
    gaps = {label(spec): lower(errors[spec], errors["dg"]) for spec in specs if spec != "dg"}
    worst = narrowest(gaps)
    medians = "; ".join(
        f"{label(spec)} {runs.mean():.2g} ({np.median(runs):.2g})" for spec, runs in errors.items()
    )
    return found(
        f"error after {max(table['steps'].to_list())} batches, {worst} − DG",
        gaps[worst],
        positive(gaps) and long_enough,
        partly=any(gap.low > 0 for gap in gaps.values()),
        note=f"mean (median): {medians}",
    )


@claims.add(
    "lower-error",
    "Section 5, Figure 8",
    "DG reaches lower sequence error than all baselines.",
    paper="> 0",
    sweep=sweep.CURVES,
)
def lower_error(table: pl.DataFrame) -> Finding:
    return last_errors(table)


def _by_size(table: pl.DataFrame, field: str, metric: str) -> dict[str, dict[int, np.ndarray]]:
    table = main_runs(table)
    runs = scaled(table, field, metric, rivals(table))
    if len(runs["dg"]) < 2:
        raise NotMeasuredError(f"it needs runs of several values of {field}")
    return runs


def _rise(table: pl.DataFrame, field: str) -> Finding:
    """How much more than DG's the final error of each baseline rises from the smallest size to the
    largest; "partly" if that is clear for one of them at least."""
    runs = _by_size(table, field, "error")
    sizes = sorted(runs["dg"])
    rises = {spec: by_size[sizes[-1]] - by_size[sizes[0]] for spec, by_size in runs.items()}
    gaps = {label(spec): lower(rises[spec], rises["dg"]) for spec in rises if spec != "dg"}
    worst, symbol = narrowest(gaps), SIZES[field]
    return found(
        f"rise of the final error from {symbol} = {sizes[0]} to {sizes[-1]}, {worst} − DG",
        gaps[worst],
        positive(gaps),
        partly=any(gap.low > 0 for gap in gaps.values()),
        note=f"final error at {symbol} = {', '.join(map(str, sizes))}: {_along(runs)}",
    )


def _along(runs: dict[str, dict[int, np.ndarray]]) -> str:
    return "; ".join(
        f"{label(spec)} {' → '.join(f'{x.mean():.3f}' for x in by_size.values())}"
        for spec, by_size in runs.items()
    )


@claims.add(
    "graceful-length",
    "Section 5, Figure 9a",
    "With the horizon, baseline performance deteriorates rapidly beyond a threshold, whereas DG "
    "degrades much more gracefully.",
    paper="> 0",
    sweep=sweep.SCALING,
)
def graceful_length(table: pl.DataFrame) -> Finding:
    return _rise(table, "length")


@claims.add(
    "graceful-vocabulary",
    "Section 5, Figure 9b",
    "With the vocabulary, baseline performance deteriorates rapidly beyond a threshold, whereas "
    "DG degrades much more gracefully.",
    paper="> 0",
    sweep=sweep.SCALING,
)
def graceful_vocabulary(table: pl.DataFrame) -> Finding:
    return _rise(table, "vocabulary")


def _positive_errors(runs: dict[str, dict[int, np.ndarray]]) -> None:
    if min(x.min() for by_size in runs.values() for x in by_size.values()) <= 0:
        raise NotMeasuredError("a power law needs errors above 0, and a run made none")


def _exponent(table: pl.DataFrame, field: str) -> Finding:
    """The exponent of the average error in a size, least of all baselines − DG; "partly" if DG's
    is the smallest, though not clearly.

    Seeds are independent runs at every size, so an exponent is fitted to those of one number. A
    method at chance everywhere would have one near 0: the note gives the errors themselves.
    """
    runs = _by_size(table, field, "regret")
    _positive_errors(runs)
    slopes = {
        spec: np.polyfit(np.log(list(by_size)), np.log(np.stack(list(by_size.values()))), 1)[0]
        for spec, by_size in runs.items()
    }
    gaps = {label(spec): lower(slopes[spec], slopes["dg"]) for spec in slopes if spec != "dg"}
    worst, symbol = narrowest(gaps), SIZES[field]
    fitted = listed({label(spec): bootstrap(of_seeds) for spec, of_seeds in slopes.items()})
    sizes = ", ".join(map(str, sorted(runs["dg"])))
    return found(
        f"exponent in {symbol}, {worst} − DG",
        gaps[worst],
        positive(gaps),
        partly=all(gap.value > 0 for gap in gaps.values()),
        note=f"exponents: {fitted}; average error at {symbol} = {sizes}: {_along(runs)}",
    )


@claims.add(
    "exponent-length",
    "Section 5, Figure 9c",
    "DG achieves a smaller scaling exponent in the horizon.",
    paper="> 0",
    sweep=sweep.SCALING,
)
def exponent_length(table: pl.DataFrame) -> Finding:
    return _exponent(table, "length")


@claims.add(
    "exponent-vocabulary",
    "Section 5, Figure 9d",
    "DG achieves a smaller scaling exponent in the vocabulary.",
    paper="> 0",
    sweep=sweep.SCALING,
)
def exponent_vocabulary(table: pl.DataFrame) -> Finding:
    return _exponent(table, "vocabulary")


@claims.add(
    "power-law",
    "Section 5, Figure 9c–d",
    "The log-log plots reveal approximate power-law scaling.",
    paper="≈ 1",
    sweep=sweep.SCALING,
)
def power_law(table: pl.DataFrame) -> Finding:
    """R² of the line through the mean log errors; "approximate" is at least 0.9 for every method
    and size, "partly" for half of them."""
    fits = {}
    for field, symbol in SIZES.items():
        runs = _by_size(table, field, "regret")
        _positive_errors(runs)
        for spec, by_size in runs.items():
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
