"""The sentences of Section 5, decided on runs. `robustness.py` has those of Appendix D."""

import numpy as np
import polars as pl

from delightful.experiments.tokens import sweep
from delightful.experiments.tokens.runs import by_seed, ends, regret_at_updates, rivals, scaled
from delightful.lab.curves import label
from delightful.lab.experiment import ClaimBook, Finding, NotMeasuredError, found
from delightful.lab.statistics import Estimate, bootstrap_difference

claims = ClaimBook("tokens")

SIZES = {"length": "H", "vocabulary": "M"}


def lower(above: np.ndarray, below: np.ndarray) -> Estimate:
    """By how much `below` is lower, on the same seeds."""
    return bootstrap_difference(above, below, paired=True)


def narrowest(gaps: dict[str, Estimate]) -> str:
    """Where a gap is least certain to be positive: by the interval's lower end, if it has one."""
    return min(gaps, key=lambda name: np.nan_to_num(gaps[name].low, nan=gaps[name].value))


def positive(gaps: dict[str, Estimate]) -> bool:
    return all(gap.low > 0 for gap in gaps.values())


def listed(gaps: dict[str, Estimate]) -> str:
    return "; ".join(f"{name}: {gap}" for name, gap in gaps.items())


def _updates(table: pl.DataFrame) -> int:
    """The gradient steps that every method has made."""
    per_batch = pl.col("steps") * pl.col("epochs") * pl.col("minibatches")
    return int(table.select(per_batch.alias("all"))["all"].min())  # type: ignore[arg-type]


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
    specs, budget = rivals(table), _updates(table)
    others = {label(spec): spec for name, spec in specs.items() if name != "dg"}
    by_update = {
        name: lower(
            regret_at_updates(table, budget, method=spec),
            regret_at_updates(table, budget, method="dg"),
        )
        for name, spec in others.items()
    }
    rows = ends(table)
    by_episode = {
        name: lower(by_seed(rows, "regret", method=spec), by_seed(rows, "regret", method="dg"))
        for name, spec in others.items()
    }
    worst = narrowest(by_update)
    note = f"per gradient step: {listed(by_update)}; per episode: {listed(by_episode)}"
    return found(
        f"average error over {budget} gradient steps, {worst} − DG",
        by_update[worst],
        positive(by_update) and positive(by_episode),
        partly=positive(by_update) or positive(by_episode),
        note=note,
    )


@claims.add(
    "lower-error",
    "Section 5, Figure 8",
    "DG reaches lower sequence error than all baselines.",
    paper="> 0",
    sweep=sweep.CURVES,
)
def lower_error(table: pl.DataFrame) -> Finding:
    """Error over the last record, as many episodes for each method."""
    specs = rivals(table)
    rows = ends(table)
    errors = {name: by_seed(rows, "error", method=spec) for name, spec in specs.items()}
    gaps = {
        label(specs[name]): lower(runs, errors["dg"])
        for name, runs in errors.items()
        if name != "dg"
    }
    worst = narrowest(gaps)
    note = "; ".join(f"{label(specs[name])} {runs.mean():.2g}" for name, runs in errors.items())
    below = [gap.value > 0 for gap in gaps.values()]
    return found(
        f"final error, {worst} − DG", gaps[worst], positive(gaps), partly=all(below), note=note
    )


Runs = dict[str, dict[int, np.ndarray]]
"""Numbers, one per seed, by method and size."""


def _rise(table: pl.DataFrame, field: str) -> Finding:
    """How much more than DG's the final error of each baseline rises from the smallest size to the
    largest."""
    runs: Runs = scaled(table, field, "error")
    rises = {}
    for name, by_size in runs.items():
        small, large = min(by_size), max(by_size)
        rises[name] = by_size[large] - by_size[small]
    gaps = {name: lower(rise, rises["dg"]) for name, rise in rises.items() if name != "dg"}
    worst = narrowest(gaps)
    note = "; ".join(
        f"{label(name)} {' → '.join(f'{x.mean():.3f}' for x in by_size.values())}"
        for name, by_size in runs.items()
    )
    sizes = ", ".join(map(str, next(iter(runs.values()))))
    return found(
        f"rise of the final error from {SIZES[field]} = {small} to {large}, {label(worst)} − DG",
        gaps[worst],
        positive(gaps),
        partly=any(gap.low > 0 for gap in gaps.values()),
        note=f"at {SIZES[field]} = {sizes}: {note}",
    )


@claims.add(
    "graceful-length",
    "Section 5, Figure 9a",
    "With the horizon, baselines deteriorate rapidly, whereas DG degrades much more gracefully.",
    paper="> 0",
    sweep=sweep.SCALING,
)
def graceful_length(table: pl.DataFrame) -> Finding:
    return _rise(table, "length")


@claims.add(
    "graceful-vocabulary",
    "Section 5, Figure 9b",
    "With the vocabulary, baselines deteriorate rapidly, whereas DG degrades much more gracefully.",
    paper="> 0",
    sweep=sweep.SCALING,
)
def graceful_vocabulary(table: pl.DataFrame) -> Finding:
    return _rise(table, "vocabulary")


def _slopes(table: pl.DataFrame, field: str) -> dict[str, np.ndarray]:
    """The exponent of each seed's average error, by method. Seeds are independent runs at every
    size, so those of one number may be taken together."""
    slopes = {}
    for name, by_size in scaled(table, field, "regret").items():
        logs = np.log(np.stack(list(by_size.values())))  # (sizes, seeds)
        slopes[name] = np.polyfit(np.log(list(by_size)), logs, 1)[0]
    return slopes


def _exponent(table: pl.DataFrame, field: str) -> Finding:
    slopes = _slopes(table, field)
    gaps = {name: lower(runs, slopes["dg"]) for name, runs in slopes.items() if name != "dg"}
    worst = narrowest(gaps)
    note = "; ".join(f"{label(name)} {runs.mean():.2f}" for name, runs in slopes.items())
    smallest = all(gap.value > 0 for gap in gaps.values())
    return found(
        f"exponent in {SIZES[field]}, {label(worst)} − DG",
        gaps[worst],
        positive(gaps),
        partly=smallest,
        note=f"exponents: {note}",
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
        for name, by_size in scaled(table, field, "regret").items():
            if len(by_size) < 3:
                raise NotMeasuredError("it needs at least three sizes")
            x, y = np.log(list(by_size)), np.log([runs.mean() for runs in by_size.values()])
            fits[f"{label(name)} in {symbol}"] = float(np.corrcoef(x, y)[0, 1] ** 2)
    worst = min(fits, key=lambda name: fits[name])
    good = [fit >= 0.9 for fit in fits.values()]
    note = "; ".join(f"{name} {fit:.3f}" for name, fit in fits.items())
    holds, half = all(good), 2 * sum(good) >= len(good)
    return found(f"smallest R² ({worst})", fits[worst], holds, partly=half, note=note)
