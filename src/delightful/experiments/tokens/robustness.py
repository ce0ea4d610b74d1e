"""The sentences of Appendix D, decided on runs: tuning, robustness, variants, mixtures."""

import numpy as np
import polars as pl

from delightful.experiments.tokens import sweep
from delightful.experiments.tokens.claims import listed, lower, narrowest, positive
from delightful.experiments.tokens.runs import by_seed, ends, rivals
from delightful.lab.curves import label
from delightful.lab.experiment import ClaimBook, Finding, NotMeasuredError, found
from delightful.lab.statistics import Estimate, bootstrap, bootstrap_ratio
from delightful.weights import parse_method

claims = ClaimBook("tokens")

Grid = dict[tuple[float, ...], np.ndarray]
"""Regrets, one per seed, by the values that were varied."""


def _grid(table: pl.DataFrame, method: str, *options: str) -> Grid:
    """The regret of a method's runs by its options, then its KL penalty and passes per batch."""
    rows = ends(table)
    grid: Grid = {}
    for spec in rows["method"].unique().sort().to_list():
        found_method, values = parse_method(spec)
        if found_method.name == method:
            mine = rows.filter(pl.col("method") == spec)
            for kl, epochs in mine.select("kl", "epochs").unique().sort("kl", "epochs").rows():
                key = (*(values[option] for option in options), kl, epochs)
                grid[key] = by_seed(mine, "regret", kl=kl, epochs=epochs)
    if len(grid) < 2:
        raise NotMeasuredError(f"it needs runs of {method} with several settings")
    return dict(sorted(grid.items()))


def _best(grid: Grid) -> tuple[float, ...]:
    return min(grid, key=lambda at: float(grid[at].mean()))


def _tuned_dg(table: pl.DataFrame) -> np.ndarray:
    return by_seed(ends(table), "regret", method="dg")


def _setting(names: tuple[str, ...], at: tuple[float, ...]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in zip(names, at, strict=True))


def _near(what: str, runs: np.ndarray, low: float, high: float, note: str = "") -> Finding:
    """Whether the mean lies between `low` and `high`; partly, between half and twice these."""
    value = bootstrap(runs)
    holds, partly = low <= value.value <= high, low / 2 <= value.value <= 2 * high
    return found(what, value, holds, partly=partly, note=note)


@claims.add(
    "tuned-dg", "Appendix D.1", "DG's regret is below 0.01.", paper="< 0.01", sweep=sweep.CURVES
)
def tuned_dg(table: pl.DataFrame) -> Finding:
    """The average error over training; "partly" if it is below 0.03, what the paper gives PPO."""
    value = bootstrap(_tuned_dg(table))
    return found("DG's regret", value, value.value < 0.01, partly=value.value < 0.03)


@claims.add(
    "tuned-ppo",
    "Appendix D.1, Figure 20a",
    "The best-tuned PPO has regret ≈ 0.03.",
    paper="≈ 0.03",
    sweep=sweep.TUNING,
)
def tuned_ppo(table: pl.DataFrame) -> Finding:
    """ "≈ 0.03" is read as 0.02 to 0.045, "partly" as half to twice that."""
    grid = _grid(table, "ppo", "clip")
    at = _best(grid)
    return _near("regret of the best PPO", grid[at], 0.02, 0.045, _ppo(at))


def _ppo(at: tuple[float, ...]) -> str:
    return f"at {_setting(('ε', 'β', 'passes'), at)}"


def _pmpo(at: tuple[float, ...]) -> str:
    return f"at {_setting(('α', 'β', 'passes'), at)}"


@claims.add(
    "tuned-pmpo",
    "Appendix D.1, Figure 20b",
    "The best-tuned PMPO has regret ≈ 0.08.",
    paper="≈ 0.08",
    sweep=sweep.TUNING,
)
def tuned_pmpo(table: pl.DataFrame) -> Finding:
    """ "≈ 0.08" is read as 0.055 to 0.12, "partly" as half to twice that."""
    grid = _grid(table, "pmpo", "preference")
    at = _best(grid)
    return _near("regret of the best PMPO", grid[at], 0.055, 0.12, _pmpo(at))


@claims.add(
    "tuning-does-not-help",
    "Appendix D.1, Figure 20",
    "Even the best-tuned PPO and PMPO lag behind DG.",
    paper="> 0",
    sweep=sweep.TUNING,
)
def tuning_does_not_help(table: pl.DataFrame) -> Finding:
    """The best of each grid − DG, in regret over as many episodes, whatever the passes over each
    batch: with four, a method makes four times DG's gradient steps."""
    dg = _tuned_dg(table)
    ppo, pmpo = _grid(table, "ppo", "clip"), _grid(table, "pmpo", "preference")
    gaps = {"PPO": lower(ppo[_best(ppo)], dg), "PMPO": lower(pmpo[_best(pmpo)], dg)}
    worst = narrowest(gaps)
    note = f"{listed(gaps)}; DG {dg.mean():.4f}; PPO {_ppo(_best(ppo))}; PMPO {_pmpo(_best(pmpo))}"
    return found(
        f"regret, best {worst} − DG",
        gaps[worst],
        positive(gaps),
        partly=any(gap.low > 0 for gap in gaps.values()),
        note=note,
    )


@claims.add(
    "ppo-clip",
    "Appendix D.1, Figure 20a",
    "PPO is insensitive to ε.",
    paper="≈ 1",
    sweep=sweep.TUNING,
)
def ppo_clip(table: pl.DataFrame) -> Finding:
    """Regret at the worst ε over that at the best, without KL penalty; insensitive is up to 1.25,
    "partly" up to 1.5."""
    grid = {at: runs for at, runs in _grid(table, "ppo", "clip").items() if at[1] == 0}
    if len(grid) < 2:
        raise NotMeasuredError("it needs runs of ppo without KL penalty at several clips")
    best, worst = _best(grid), max(grid, key=lambda at: float(grid[at].mean()))
    ratio = bootstrap_ratio(grid[worst], grid[best])
    note = "; ".join(f"ε = {clip:g}: {runs.mean():.4f}" for (clip, *_), runs in grid.items())
    holds, partly = ratio.value <= 1.25, ratio.value <= 1.5
    return found("regret at the worst ε over the best", ratio, holds, partly=partly, note=note)


@claims.add(
    "ppo-kl",
    "Appendix D.1, Figure 20a",
    "The KL penalty does not help PPO on this deterministic task.",
    paper="≥ 0",
    sweep=sweep.TUNING,
)
def ppo_kl(table: pl.DataFrame) -> Finding:
    """Best regret with a penalty − best without; it helps if that is clearly negative."""
    grid = _grid(table, "ppo", "clip")
    without = {at: runs for at, runs in grid.items() if at[1] == 0}
    penalised = {at: runs for at, runs in grid.items() if at[1] > 0}
    if not without or not penalised:
        raise NotMeasuredError("it needs runs of ppo with and without KL penalty")
    gap = lower(penalised[_best(penalised)], without[_best(without)])
    note = f"with it {_ppo(_best(penalised))}; without it {_ppo(_best(without))}"
    # Of a single seed there is no interval; then the value decides.
    helps = (gap.high if np.isfinite(gap.high) else gap.value) < 0
    return found("best regret with a penalty − without", gap, not helps, note=note)


@claims.add(
    "pmpo-boundary",
    "Appendix D.1, Figure 20b",
    "For PMPO, boundary values (α ≈ 0 or 1) outperform intermediate values.",
    paper="> 0",
    sweep=sweep.TUNING,
)
def pmpo_boundary(table: pl.DataFrame) -> Finding:
    """Best regret at 0 < α < 1 − best at α = 0 or 1, over all penalties."""
    grid = _grid(table, "pmpo", "preference")
    edge = {at: runs for at, runs in grid.items() if at[0] in (0, 1)}
    inner = {at: runs for at, runs in grid.items() if 0 < at[0] < 1}
    if not edge or not inner:
        raise NotMeasuredError("it needs runs of pmpo at α = 0 or 1 and between")
    gap = lower(inner[_best(inner)], edge[_best(edge)])
    values = sorted({at[0] for at in grid})
    least = {a: min(float(runs.mean()) for at, runs in grid.items() if at[0] == a) for a in values}
    note = "best by α: " + "; ".join(f"{a:g}: {value:.4f}" for a, value in least.items())
    return found("best regret, α between − α at 0 or 1", gap, gap.low > 0, note=note)


@claims.add(
    "learning-rates",
    "Appendix D.2, Figure 21a",
    "DG consistently outperforms baselines over a wide range of learning rates.",
    paper="> 0",
    sweep=sweep.RATE,
)
def learning_rates(table: pl.DataFrame) -> Finding:
    """Regret of the best baseline − DG at each rate, over as many episodes. "Partly" if DG's mean
    is the lowest at half of the rates or more, or if its best is the best of all."""
    rows, specs = ends(table), rivals(table)
    rates = sorted(rows["learning_rate"].unique().to_list())
    gaps, tops = {}, dict.fromkeys(specs, np.inf)
    for rate in rates:
        runs = {n: by_seed(rows, "regret", method=s, learning_rate=rate) for n, s in specs.items()}
        tops = {name: min(tops[name], float(runs[name].mean())) for name in runs}
        best = min((n for n in runs if n != "dg"), key=lambda n: float(runs[n].mean()))
        gaps[f"{rate:g} ({label(specs[best])})"] = lower(runs[best], runs["dg"])
    worst = narrowest(gaps)
    first = [gap.value > 0 for gap in gaps.values()]
    champion = min(tops, key=lambda name: tops[name]) == "dg"
    note = f"best baseline − DG: {listed(gaps)}; best of all rates: " + "; ".join(
        f"{label(specs[name])} {value:.4f}" for name, value in tops.items()
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
    """Error over the last record, least of all baselines − DG."""
    rows, specs = ends(table), rivals(table)
    errors = {name: by_seed(rows, "error", method=spec) for name, spec in specs.items()}
    gaps = {label(specs[n]): lower(e, errors["dg"]) for n, e in errors.items() if n != "dg"}
    worst = narrowest(gaps)
    note = "; ".join(f"{label(specs[name])} {runs.mean():.2g}" for name, runs in errors.items())
    steps = max(table["steps"].to_list())
    return found(
        f"error after {steps} batches, {worst} − DG",
        gaps[worst],
        positive(gaps),
        partly=any(gap.low > 0 for gap in gaps.values()),
        note=note,
    )


def _by_variant(table: pl.DataFrame) -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """Regret by task and reward, and then by method."""
    rows, specs = ends(table), rivals(table)
    kinds = rows.select("task", "reward").unique(maintain_order=True).rows()
    return {
        (task, reward): {
            name: by_seed(rows, "regret", method=spec, task=task, reward=reward)
            for name, spec in specs.items()
        }
        for task, reward in kinds
    }


def _margin(runs: dict[str, np.ndarray]) -> Estimate:
    """The best baseline − DG."""
    best = min((name for name in runs if name != "dg"), key=lambda name: float(runs[name].mean()))
    return lower(runs[best], runs["dg"])


@claims.add(
    "every-variant",
    "Appendix D.3, Figure 23",
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


def _mixtures(table: pl.DataFrame) -> Grid:
    return _grid(table, "additive", "alpha", "temperature")


@claims.add(
    "best-additive",
    "Appendix D.4, Figure 24",
    "The best additive mixture achieves regret ≈ 0.1.",
    paper="≈ 0.1",
    sweep=sweep.ADDITIVE,
)
def best_additive(table: pl.DataFrame) -> Finding:
    """ "≈ 0.1" is read as 0.07 to 0.14, "partly" as half to twice that."""
    grid = _mixtures(table)
    at = _best(grid)
    note = f"at {_setting(('α', 'η'), at[:2])}"
    return _near("regret of the best mixture", grid[at], 0.07, 0.14, note)


@claims.add(
    "dg-beside-additive",
    "Appendix D.4, Figure 24",
    "DG achieves regret ≈ 0.04 there.",
    paper="≈ 0.04",
    sweep=sweep.ADDITIVE,
)
def dg_beside_additive(table: pl.DataFrame) -> Finding:
    """ "≈ 0.04" is read as 0.03 to 0.055, "partly" as half to twice that."""
    return _near("DG's regret", _tuned_dg(table), 0.03, 0.055)


@claims.add(
    "additive-beats-pg",
    "Section 5, Appendix D.4, Figure 24",
    "Additive mixtures can outperform REINFORCE.",
    paper="> 0",
    sweep=sweep.ADDITIVE,
)
def additive_beats_pg(table: pl.DataFrame) -> Finding:
    grid = _mixtures(table)
    pg = by_seed(ends(table), "regret", method="pg")
    gap = lower(pg, grid[_best(grid)])
    note = f"best mixture at {_setting(('α', 'η'), _best(grid)[:2])}; REINFORCE {pg.mean():.4f}"
    return found("regret, REINFORCE − best mixture", gap, gap.low > 0, note=note)


@claims.add(
    "additive-below-dg",
    "Section 5, Appendix D.4, Figure 24",
    "No additive configuration matches DG.",
    paper="> 0",
    sweep=sweep.ADDITIVE,
)
def additive_below_dg(table: pl.DataFrame) -> Finding:
    grid, dg = _mixtures(table), _tuned_dg(table)
    gap = lower(grid[_best(grid)], dg)
    better = sum(float(runs.mean()) <= float(dg.mean()) for runs in grid.values())
    note = f"best at {_setting(('α', 'η'), _best(grid)[:2])}; {better} of {len(grid)} match DG"
    return found("regret, best mixture − DG", gap, gap.low > 0, note=note)
