"""Claims of Section 5."""

import numpy as np
import polars as pl

from delightful.lab.conditions import Condition
from delightful.lab.experiment import ClaimBook, Reading
from delightful.lab.plotting import label
from delightful.lab.quantities import Mean, Ratio
from delightful.lab.tables import varying
from delightful.lab.verdicts import (
    Measurement,
    NotMeasuredError,
    Rule,
    above,
    at_least,
    below,
    measured,
)
from delightful.paper.comparisons import lower
from delightful.paper.tokens import sweep
from delightful.paper.tokens.runs import (
    at_equal_updates,
    by_method,
    ends,
    power_laws,
    rivals,
    scaled,
)

claims = ClaimBook("tokens")

SIZES = {"length": "H", "vocabulary": "M"}

_STANDS = (
    "stale actors stand for the paper, which trained with 'a distributed actor-learner "
    "architecture with 10 parallel actors' (Appendix D): " + sweep.MEASURED_STALENESS
)


def both_systems(kind: str) -> tuple[Reading, Reading]:
    """With stale and with fresh actors."""
    return (
        Reading(sweep=getattr(sweep.STALE, kind), stands=_STANDS),
        Reading(sweep=getattr(sweep.FRESH, kind)),
    )


def equal_budgets(kind: str) -> tuple[Reading, Reading, Reading]:
    """With stale actors, where every method makes one gradient step per batch; with fresh actors,
    where PPO makes four, after the same number of gradient steps and of episodes."""
    stale, fresh = getattr(sweep.STALE, kind), getattr(sweep.FRESH, kind)
    return (
        Reading(sweep=stale, prepare=ends, stands=_STANDS),
        Reading("per gradient step", fresh, at_equal_updates),
        Reading("per episode", fresh, ends),
    )


def over_dg(runs: dict[str, np.ndarray], case: str = "") -> dict[str, Mean]:
    """Each baseline's numbers − DG's, by the baseline's name and the case."""
    rest = (spec for spec in runs if spec != "dg")
    return {label(spec) + case: lower(runs[spec], runs["dg"]) for spec in rest}


def _after(rows: pl.DataFrame) -> str:
    """How long the methods have trained, in what is the same for all."""
    updates = rows["updates"].unique().to_list()
    steps = max(rows["step"].to_list())
    return (
        f"after {updates[0]:,} gradient steps" if len(updates) == 1 else f"after {steps:,} batches"
    )


def _means(runs: dict[str, np.ndarray]) -> str:
    return "; ".join(f"{label(spec)} {x.mean():.3g}" for spec, x in runs.items())


OWN_RATES = Condition(
    "each method at its own learning rate; with stale actors that of Figure 21a, in which the same "
    "seeds count",
    (),
)


@claims.add(
    "Section 5, Figure 8",
    paper="> 0",
    readings=equal_budgets("curves"),
    rule=Rule(above(0, "average error over training, baseline − DG"), conditions=(OWN_RATES,)),
    finding="in Token Reversal, DG's error averaged over training {is} below that of {case}",
)
def faster(rows: pl.DataFrame) -> Measurement:
    """DG converges faster than all baselines."""
    runs = by_method(rows, "regret")
    return measured(over_dg(runs), note=f"average error {_after(rows)}: {_means(runs)}")


LAST_ERRORS = above(0, "final error, baseline − DG")


def last_errors(rows: pl.DataFrame) -> Measurement:
    """Error over the last record: the quantity of LAST_ERRORS."""
    runs = by_method(rows, "error")
    errors = (f"{label(m)} {x.mean():.2g} ({np.median(x):.2g})" for m, x in runs.items())
    return measured(over_dg(runs), note=f"mean (median) error {_after(rows)}: {'; '.join(errors)}")


@claims.add(
    "Section 5, Figure 8",
    paper="> 0",
    readings=equal_budgets("curves"),
    rule=Rule(LAST_ERRORS, conditions=(OWN_RATES,)),
)
def lower_error(rows: pl.DataFrame) -> Measurement:
    """DG reaches lower sequence error than all baselines."""
    return last_errors(rows)


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


def _rises(field: str) -> Rule:
    words = f"rise of the final error from the smallest {SIZES[field]} to the largest"
    ours = "much more gracefully is less than half the rise"
    return Rule(below(0.5, f"{words}, DG's over the baseline's", ours=ours), above(0, words))


def _rise(rows: pl.DataFrame, field: str) -> Measurement:
    runs = _by_size(rows, field, "error")
    rises = {spec: by[max(by)] - by[min(by)] for spec, by in runs.items()}
    dg = rises.pop("dg")
    shares = {label(spec): Ratio(dg, x) for spec, x in rises.items()}
    own = {label(spec): Mean(x) for spec, x in rises.items()}
    return measured(shares, own, note=f"error {_after(rows)} {_along(runs, field)}")


@claims.add(
    "Section 5, Figure 9a",
    paper="< 1",
    readings=equal_budgets("scaling"),
    rule=_rises("length"),
)
def graceful_length(rows: pl.DataFrame) -> Measurement:
    """With the horizon, baseline performance deteriorates rapidly beyond a threshold, whereas DG
    degrades much more gracefully."""
    return _rise(rows, "length")


@claims.add(
    "Section 5, Figure 9b",
    paper="< 1",
    readings=equal_budgets("scaling"),
    rule=_rises("vocabulary"),
)
def graceful_vocabulary(rows: pl.DataFrame) -> Measurement:
    """With the vocabulary, baseline performance deteriorates rapidly beyond a threshold, whereas DG
    degrades much more gracefully."""
    return _rise(rows, "vocabulary")


def _errors(rows: pl.DataFrame, field: str) -> Runs:
    """The average error, which has a power law only if it is above 0."""
    runs = _by_size(rows, field, "regret")
    if min(x.min() for by_size in runs.values() for x in by_size.values()) <= 0:
        raise NotMeasuredError("a power law needs errors above 0, and a run made none")
    return runs


UNLEARNED = Condition(
    "if at the largest size no method's final error is above {:g} of chance's",
    (0.9,),
    ours="near chance it cannot grow, and the exponent of a method that learns nothing is small",
)


def _exponents(field: str) -> Rule:
    words = f"exponent of the average error in {SIZES[field]}, baseline − DG"
    return Rule(above(0, words), conditions=(UNLEARNED,))


def _require_learned(rows: pl.DataFrame, field: str) -> None:
    """Raise NotMeasuredError if a method has learned next to nothing at the largest size."""
    largest = rows.filter(pl.col(field) == pl.col(field).max())
    chance = 1 - 1 / min(largest["vocabulary"].to_list())
    (limit,) = UNLEARNED.values
    errors = {m: x.mean() for m, x in by_method(varying(largest, field), "error").items()}
    if stuck := [f"{label(m)} {x:.3g}" for m, x in errors.items() if x > limit * chance]:
        at = f"{SIZES[field]} = {largest[field][0]}"
        raise NotMeasuredError(
            f"{_after(rows)} the error at {at} is near chance, {chance:.3g}: {', '.join(stuck)}"
        )


def _exponent(rows: pl.DataFrame, field: str) -> Measurement:
    """The note gives the errors themselves."""
    _require_learned(rows, field)
    runs = _errors(rows, field)
    slopes = {spec: power_laws(by_size)[0] for spec, by_size in runs.items()}
    note = f"exponents {_after(rows)}: {_means(slopes)}. Average error {_along(runs, field)}"
    return measured(over_dg(slopes), note=note)


@claims.add(
    "Section 5, Figure 9c",
    paper="> 0",
    readings=equal_budgets("scaling"),
    rule=_exponents("length"),
    finding="the exponent with which DG's error grows in the horizon {is} below that of {case}",
)
def exponent_length(rows: pl.DataFrame) -> Measurement:
    """DG achieves a smaller scaling exponent in the horizon; its advantage compounds with
    difficulty."""
    return _exponent(rows, "length")


@claims.add(
    "Section 5, Figure 9d",
    paper="> 0",
    readings=equal_budgets("scaling"),
    rule=_exponents("vocabulary"),
)
def exponent_vocabulary(rows: pl.DataFrame) -> Measurement:
    """DG achieves a smaller scaling exponent in the vocabulary; its advantage compounds with
    difficulty."""
    return _exponent(rows, "vocabulary")


_SIZES = Condition("if at least {:g} sizes have been run", (3,), ours="two are always on a line")


@claims.add(
    "Section 5, Figure 9c–d",
    paper="≈ 1",
    readings=both_systems("scaling"),
    rule=Rule(
        at_least(0.9, "R² of a seed's line in log-log, mean", ours="the paper says approximate"),
        conditions=(_SIZES,),
    ),
)
def power_law(table: pl.DataFrame) -> Measurement:
    """The log-log plots reveal approximate power-law scaling.

    Of the average error, after as many episodes of every method.
    """
    rows, (least,) = ends(table), _SIZES.values
    fits = {}
    for field, symbol in SIZES.items():
        for spec, by_size in _errors(rows, field).items():
            if len(by_size) < least:
                raise NotMeasuredError(f"it needs at least {least:g} sizes")
            x, logs = np.log(list(by_size)), np.log(np.stack(list(by_size.values()), 1))
            fits[f"{label(spec)} in {symbol}"] = Mean(np.array([_fit(x, y) for y in logs]))
    return measured(fits)


def _fit(x: np.ndarray, y: np.ndarray) -> float:
    """R² of the line through the points."""
    flat = np.ptp(y) == 0  # a line through equal points is perfect, if no law of scaling
    return 1.0 if flat else float(np.corrcoef(x, y)[0, 1] ** 2)
