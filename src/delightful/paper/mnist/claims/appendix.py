"""The sentences of Appendix B, decided on runs: generalisation, sensitivity, other forms."""

from itertools import groupby, pairwise

import numpy as np
import polars as pl

from delightful.lab.comparisons import lower, narrowest
from delightful.lab.curves import pg_and_dg, seeds_by_steps
from delightful.lab.drawing import at_end
from delightful.lab.experiment import ClaimBook, Finding, NotMeasuredError, found
from delightful.lab.statistics import Estimate, bootstrap_ratio
from delightful.paper.mnist import sweep
from delightful.paper.mnist.claims.main_text import final, gap_closed
from delightful.paper.mnist.runs import by_option, main_runs

claims = ClaimBook("mnist")

Errors = dict[float, np.ndarray]
"""Final errors, one per seed, by the value of what is varied."""


def _varied(table: pl.DataFrame, field: str, metric: str = "train_error", **where: str) -> Errors:
    values = sorted(table[field].unique().to_list())
    return {value: final(table, metric, **{field: value}, **where) for value in values}


def _options(table: pl.DataFrame, name: str, parameter: str, metric: str = "train_error") -> Errors:
    """Final errors of the method `name` by the value of its option."""
    errors = _varied(by_option(table, name, parameter), parameter, metric)
    if len(errors) < 2:
        raise NotMeasuredError(f"it needs runs of {name} with several values of {parameter}")
    return errors


def _best(errors: Errors) -> float:
    return min(errors, key=lambda value: float(errors[value].mean()))


def _list(errors: Errors) -> str:
    return "; ".join(f"{value:g}: {runs.mean():.4f}" for value, runs in errors.items())


@claims.add(
    "validation-tracks",
    "Appendix B.1, Figure 14a",
    "Validation error tracks training error closely for both PG and DG, indicating no overfitting.",
    paper="≈ 1",
    sweep=sweep.TEMPERATURE,
)
def validation_tracks(table: pl.DataFrame) -> Finding:
    """Validation over training error at the end. "Closely" is read as 0.8 to 1.25; "partly"
    is validation error still within 2% of its lowest, so that training longer has done no harm."""
    ratios, risen = {}, {}
    for name in ("pg", "dg"):
        train, val = (final(table, f"{split}_error", method=name) for split in ("train", "val"))
        ratios[name] = bootstrap_ratio(val, train)
        curve = seeds_by_steps(table, "val_error", method=name).mean(0)
        risen[name] = float(curve[-1] / curve.min())
    far = max(ratios, key=lambda name: abs(np.log(ratios[name].value)))
    note = "; ".join(
        f"{name.upper()} {ratios[name]}, validation error {risen[name]:.3f} times its lowest"
        for name in ratios
    )
    return found(
        f"validation over training error, {far.upper()}",
        ratios[far],
        all(0.8 <= ratio.value <= 1.25 for ratio in ratios.values()),
        partly=all(rise <= 1.02 for rise in risen.values()),
        note=note,
    )


@claims.add(
    "held-out-gain",
    "Appendix B.1, Figure 14a",
    "DG's gains persist on held-out data.",
    paper="> 0",
    sweep=sweep.TEMPERATURE,
)
def held_out_gain(table: pl.DataFrame) -> Finding:
    pg, dg = pg_and_dg(at_end(main_runs(table)), "val_error")
    gap = lower(pg[:, 0], dg[:, 0])
    note = f"PG {pg.mean():.4f}, DG {dg.mean():.4f}"
    return found("final validation error, PG − DG", gap, gap.low > 0, note=note)


@claims.add(
    "temperature",
    "Appendix B.1, Figure 14b",
    "The optimal temperature η ≈ 1 is consistent across train and validation.",
    paper="1",
    sweep=sweep.TEMPERATURE,
)
def temperature(table: pl.DataFrame) -> Finding:
    """The best η on each split; "≈ 1" is read as ½ to 2, "partly" if only on one split."""
    best, notes = {}, []
    for split in ("train", "val"):
        errors = _options(table, "dg", "temperature", f"{split}_error")
        best[split] = _best(errors)
        notes.append(f"{split}: {_list(errors)}")
    near = [0.5 <= eta <= 2 for eta in best.values()]
    return found(
        f"best η on training batches (on validation {best['val']:g})",
        best["train"],
        all(near),
        partly=any(near),
        note=", ".join(notes),
    )


def _with_bonus(table: pl.DataFrame) -> Errors:
    rows = table.filter((pl.col("entropy") > 0) & (pl.col("method") == "pg"))
    if rows.is_empty():
        raise NotMeasuredError("it needs runs of pg with an entropy bonus")
    return _varied(rows, "entropy")


def _plain(table: pl.DataFrame, method: str) -> np.ndarray:
    return final(table, method=method, entropy=0.0)


@claims.add(
    "beats-entropy",
    "Appendix B.2, Figure 15",
    "DG achieves a lower error floor than any entropy-regularized baseline.",
    paper="> 0",
    sweep=sweep.ENTROPY,
)
def beats_entropy(table: pl.DataFrame) -> Finding:
    errors = _with_bonus(table)
    best = _best(errors)
    dg = _plain(table, "dg")
    gap = lower(errors[best], dg)
    note = f"DG at η = 1: {dg.mean():.4f}; by coefficient: {_list(errors)}"
    return found(f"best bonus ({best:g}) − DG in final error", gap, gap.low > 0, note=note)


@claims.add(
    "entropy-is-sensitive",
    "Appendix B.2, Figure 15",
    "Entropy regularization is sensitive: a small coefficient gives negligible benefit, a large "
    "one collapses performance.",
    paper="≈ 1 and ≫ 1",
    sweep=sweep.ENTROPY,
)
def entropy_is_sensitive(table: pl.DataFrame) -> Finding:
    """Error at the largest coefficient over plain PG's (a collapse: twice or more), and at the
    smallest (a negligible benefit: less than a tenth lower, or none at all)."""
    errors, pg = _with_bonus(table), _plain(table, "pg")
    small, large = (bootstrap_ratio(errors[c], pg) for c in (min(errors), max(errors)))
    collapses, negligible = large.low >= 2, small.value >= 0.9
    note = f"at the smallest ({min(errors):g}) {small}; by coefficient: {_list(errors)}"
    return found(
        f"error at coefficient {max(errors):g} over plain PG's",
        large,
        collapses and negligible,
        partly=collapses,
        note=note,
    )


@claims.add(
    "wide-temperature",
    "Appendix B.2, Figure 15",
    "DG maintains its advantage over entropy regularization across a wide range of η.",
    paper="wide",
    sweep=sweep.ENTROPY,
)
def wide_temperature(table: pl.DataFrame) -> Finding:
    """How far η can grow with DG staying below the best bonus, as a factor; "wide" is a decade."""
    bonus = _with_bonus(table)
    heats = _options(table, "dg", "temperature")
    below = {eta: lower(bonus[_best(bonus)], runs).low > 0 for eta, runs in heats.items()}
    stretches = [list(run) for wins, run in groupby(below, key=below.get) if wins]
    span = max((run[-1] / run[0] for run in stretches), default=0.0)
    wins = [f"{eta:g}" for eta in below if below[eta]]
    note = f"it does at η = {', '.join(wins) or 'none'}; {_list(heats)}"
    return found(
        "largest over smallest η of that range", span, span >= 10, partly=span > 1, note=note
    )


def _gaps(table: pl.DataFrame, field: str, symbol: str, metric: str) -> dict[str, Estimate]:
    """PG's final error less DG's, by the value of `field` and the baseline."""
    gaps: dict[str, Estimate] = {}
    for baseline in table["baseline"].unique(maintain_order=True).to_list():
        rows = table.filter(pl.col("baseline") == baseline)
        pg, dg = (_varied(rows, field, metric, method=m) for m in ("pg", "dg"))
        several = "" if table["baseline"].n_unique() == 1 else f", {baseline}"
        gaps |= {f"{symbol} = {v:g}{several}": lower(pg[v], dg[v]) for v in pg}
    return gaps


def _everywhere(table: pl.DataFrame, field: str, symbol: str) -> Finding:
    """Whether DG ends below PG at every value of `field`, and every baseline that was run."""
    gaps = _gaps(table, field, symbol, "train_error")
    worst = narrowest(gaps)
    wins = np.mean([gap.low > 0 for gap in gaps.values()])
    note = "; ".join(f"{name}: {gap}" for name, gap in gaps.items())
    greedy = min(gap.value for gap in _gaps(table, field, symbol, "train_greedy_error").values())
    note += f"; by greedy error the smallest is {greedy:.3g}"
    if table["baseline"].n_unique() == 1:
        note += f"; with the baseline {table['baseline'][0]} only"
    return found(
        f"PG − DG in final error where least sure ({worst})",
        gaps[worst],
        bool(wins == 1),
        partly=bool(wins >= 0.5 and all(gap.high > 0 for gap in gaps.values())),
        note=note,
    )


@claims.add(
    "learning-rates",
    "Appendix B.3, Figure 16",
    "DG consistently outperforms PG across the effective range of learning rates, 10⁻⁴ to 10⁻³.",
    paper="> 0",
    sweep=sweep.RATE,
)
def learning_rates(table: pl.DataFrame) -> Finding:
    effective = table.filter(pl.col("learning_rate").is_between(0.99e-4, 1.01e-3))
    if effective.is_empty():
        raise NotMeasuredError("it needs learning rates from 1e-4 to 1e-3")
    return _everywhere(effective, "learning_rate", "rate")


@claims.add(
    "all-learning-rates",
    "Appendix B.3, Figure 16 (caption)",
    "DG outperforms PG across all baselines and learning rates, 10⁻⁵ to 10⁻².",
    paper="> 0",
    sweep=sweep.RATE,
)
def all_learning_rates(table: pl.DataFrame) -> Finding:
    return _everywhere(table, "learning_rate", "rate")


@claims.add(
    "batch-sizes",
    "Appendix B.4, Figure 17",
    "DG maintains its advantage across all batch sizes, 1 to 1000.",
    paper="> 0",
    sweep=sweep.BATCH,
)
def batch_sizes(table: pl.DataFrame) -> Finding:
    return _everywhere(table, "batch", "B")


@claims.add(
    "larger-batches",
    "Appendix B.4",
    "Larger batches reduce gradient variance and improve both methods.",
    paper="> 0",
    sweep=sweep.BATCH,
)
def larger_batches(table: pl.DataFrame) -> Finding:
    """The smallest fall of the final error from one batch size to the next, equal steps only."""
    same = table.filter(pl.col("steps") == pl.col("steps").max())
    falls = {}
    for method in ("pg", "dg"):
        errors = _varied(same, "batch", method=method)
        sizes = list(errors)
        if len(sizes) < 2:
            raise NotMeasuredError("it needs two batch sizes with the same number of steps")
        for small, large in pairwise(sizes):
            fall = lower(errors[small], errors[large])
            falls[f"{method.upper()}, {small:g} to {large:g}"] = fall
    worst = narrowest(falls)
    note = "; ".join(f"{name}: {fall}" for name, fall in falls.items())
    return found(
        f"smallest fall ({worst})", falls[worst], all(f.low > 0 for f in falls.values()), note=note
    )


@claims.add(
    "widths",
    "Appendix B.5, Figure 18",
    "DG achieves lower error at every width, 1 to 2048.",
    paper="> 0",
    sweep=sweep.WIDTH,
)
def widths(table: pl.DataFrame) -> Finding:
    return _everywhere(table, "width", "W")


@claims.add(
    "sweet-spot",
    "Appendix B.5, Figure 18",
    "Both methods exhibit a sweet spot in capacity.",
    paper="inside",
    sweep=sweep.WIDTH,
)
def sweet_spot(table: pl.DataFrame) -> Finding:
    """Whether the best width lies inside the range, error rising again towards the widest."""
    if table["steps"].n_unique() > 1:
        raise NotMeasuredError("at the quick scale the widest networks have fewer steps")
    errors = {m: _varied(table, "width", method=m) for m in ("pg", "dg")}
    if len(errors["dg"]) < 3:
        raise NotMeasuredError("it needs at least three widths")
    best = {m: _best(e) for m, e in errors.items()}
    inside = [min(errors[m]) < best[m] < max(errors[m]) for m in errors]
    note = "; ".join(f"{m.upper()}: {_list(e)}" for m, e in errors.items())
    return found(
        f"DG's best width (PG's {best['pg']:g})",
        best["dg"],
        all(inside),
        partly=any(inside),
        note=note,
    )


@claims.add(
    "additive",
    "Appendix B.6, Figure 19a",
    "Additive mixtures (1−α)U + αℓ consistently underperform the multiplicative form.",
    paper="> 0",
    sweep=sweep.STRUCTURE,
)
def additive(table: pl.DataFrame) -> Finding:
    errors, dg = _options(table, "additive", "alpha"), final(table, method="dg")
    best = _best(errors)
    gap = lower(errors[best], dg)
    note = f"DG {dg.mean():.4f}; by α: {_list(errors)}"
    return found(f"best mixture (α = {best:g}) − DG in final error", gap, gap.low > 0, note=note)


@claims.add(
    "exponent",
    "Appendix B.6, Figure 19b",
    "The optimal surprisal exponent is exactly β = 1; deviations in either direction degrade "
    "performance.",
    paper="1",
    sweep=sweep.STRUCTURE,
)
def exponent(table: pl.DataFrame) -> Finding:
    """The best β. It holds if every other is clearly worse, "partly" if none is clearly better."""
    errors = _options(table, "exponent", "beta")
    if 1.0 not in errors or len(errors) < 2:
        raise NotMeasuredError("it compares β = 1 with others")
    excess = {b: lower(runs, errors[1.0]) for b, runs in errors.items() if b != 1}
    note = f"by β: {_list(errors)}; error above that of β = 1: " + "; ".join(
        f"{beta:g}: {gap}" for beta, gap in excess.items()
    )
    return found(
        "best β",
        _best(errors),
        all(gap.low > 0 for gap in excess.values()),
        partly=all(gap.high > 0 for gap in excess.values()),
        note=note,
    )


@claims.add(
    "depth",
    "Appendix B, Setup",
    "The policy is a two-layer MLP (here: with one hidden layer instead of two, does DG still "
    "close roughly half the gap?).",
    paper="≈ 0.5",
    sweep=sweep.DEPTH,
)
def depth(table: pl.DataFrame) -> Finding:
    """The part of the gap closed with one hidden layer, with two in the note."""
    closed = {n: gap_closed(table, "train_error", layers=n) for n in (1, 2)}
    floors = {n: final(table, method="pg", samples=0, layers=n).mean() for n in (1, 2)}
    dg = {n: final(table, method="dg", samples=1, layers=n).mean() for n in (1, 2)}
    note = f"with two {closed[2]}; DG's error over the PG oracle's: " + ", ".join(
        f"{n} hidden {dg[n] / floors[n]:.3f}" for n in (1, 2)
    )
    return found(
        "part of the gap closed, one hidden layer",
        closed[1],
        0.4 <= closed[1].value <= 0.6,
        partly=0.25 <= closed[1].value <= 0.75,
        note=note,
    )
