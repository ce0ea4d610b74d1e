"""The sentences of Appendices D.2 and D.3, decided on runs: robustness and task variants."""

import numpy as np
import polars as pl

from delightful.experiments.tokens import sweep
from delightful.experiments.tokens.claims import last_errors
from delightful.experiments.tokens.runs import by_seed, ends, main_runs, rivals
from delightful.lab.curves import label
from delightful.lab.experiment import ClaimBook, Finding, NotMeasuredError, found
from delightful.lab.gaps import listed, lower, narrowest, positive
from delightful.lab.statistics import Estimate

claims = ClaimBook("tokens")


@claims.add(
    "learning-rates",
    "Appendix D.2, Figure 21a",
    "DG consistently outperforms baselines over a wide effective range of learning rates.",
    paper="> 0",
    sweep=sweep.RATE,
)
def learning_rates(table: pl.DataFrame) -> Finding:
    """Regret of the best baseline − DG at each rate, over as many episodes. "Partly" if DG's mean
    is the lowest at half of the rates or more, or if its best is the best of all."""
    table = main_runs(table, "learning_rate")
    rows, specs = ends(table), rivals(table)
    rates = sorted(rows["learning_rate"].unique().to_list())
    if len(rates) < 2:
        raise NotMeasuredError("it needs runs at several learning rates")
    runs = {
        spec: {rate: by_seed(rows, "regret", method=spec, learning_rate=rate) for rate in rates}
        for spec in specs
    }
    means = {spec: [float(of_seeds.mean()) for of_seeds in runs[spec].values()] for spec in specs}
    best = {spec: rates[int(np.argmin(means[spec]))] for spec in specs}
    gaps = {}
    for rate in rates:
        rival = min((s for s in specs if s != "dg"), key=lambda s: float(runs[s][rate].mean()))
        gaps[f"{rate:g} ({label(rival)})"] = lower(runs[rival][rate], runs["dg"][rate])
    worst = narrowest(gaps)
    first = [gap.value > 0 for gap in gaps.values()]
    champion = min(specs, key=lambda spec: min(means[spec])) == "dg"
    note = f"best baseline − DG: {listed(gaps)}; best of all rates: " + "; ".join(
        f"{label(spec)} {min(means[spec]):.4f} at {best[spec]:g}" for spec in specs
    )
    return found(
        f"regret, best baseline − DG at learning rate {worst}",
        gaps[worst],
        positive(gaps),
        partly=2 * sum(first) >= len(first) or champion,
        note=note,
    )


@claims.add(
    "extended",
    "Appendix D.2, Figure 21b",
    "Extended to K = 10,000, baselines do not catch up.",
    paper="> 0",
    sweep=sweep.EXTENDED,
)
def extended(table: pl.DataFrame) -> Finding:
    """At most "partly" for shorter runs than the paper's."""
    return last_errors(table, long_enough=min(table["steps"].to_list()) >= 10 * sweep.K)


def _by_variant(table: pl.DataFrame) -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """Regret by task and reward, and then by method."""
    rows = ends(main_runs(table))
    kinds = rows.select("task", "reward").unique(maintain_order=True).rows()
    return {
        (task, reward): {
            spec: by_seed(rows, "regret", method=spec, task=task, reward=reward)
            for spec in rivals(rows)
        }
        for task, reward in kinds
    }


def _margin(runs: dict[str, np.ndarray]) -> Estimate:
    """The best baseline − DG."""
    best = min((name for name in runs if name != "dg"), key=lambda name: float(runs[name].mean()))
    return lower(runs[best], runs["dg"])


@claims.add(
    "every-variant",
    "Section 5, Appendix D.3, Figure 23",
    "DG achieves the lowest regret in every setting.",
    paper="> 0",
    sweep=sweep.VARIANTS,
)
def every_variant(table: pl.DataFrame) -> Finding:
    """Over as many episodes; "partly" if DG's mean is the lowest in at least half of them."""
    gaps = {f"{t}, {r}": _margin(runs) for (t, r), runs in _by_variant(table).items()}
    worst = narrowest(gaps)
    first = [gap.value > 0 for gap in gaps.values()]
    return found(
        f"regret, best baseline − DG ({worst})",
        gaps[worst],
        positive(gaps),
        partly=2 * sum(first) >= len(first),
        note=f"DG's mean is the lowest in {sum(first)} of {len(first)}; {listed(gaps)}",
    )


@claims.add(
    "sequential-gap",
    "Appendix D.3, Figure 23",
    "The gap is often larger in the harder Sequential settings.",
    paper="> 0.5",
    sweep=sweep.VARIANTS,
)
def sequential_gap(table: pl.DataFrame) -> Finding:
    """In which share of the tasks DG's margin over the best baseline is larger with Sequential
    reward than with Bag-of-Tokens; "often" is more than half, "partly" half."""
    variants = _by_variant(table)
    larger, notes = [], []
    for task in sorted({task for task, _ in variants}):
        if not {(task, "bag"), (task, "sequential")} <= set(variants):
            raise NotMeasuredError("it needs runs of both rewards for every task")
        bag, sequential = (_margin(variants[task, kind]).value for kind in ("bag", "sequential"))
        larger.append(sequential > bag)
        notes.append(f"{task} {bag:.4f} → {sequential:.4f}")
    share = float(np.mean(larger))
    note = f"bag → sequential: {'; '.join(notes)}"
    return found("share of tasks", share, share > 0.5, partly=share == 0.5, note=note)
