"""Control's page: returns beside public scores, and how often the gate was inverted."""

from collections import Counter
from collections.abc import Iterable, Sequence

import polars as pl
from stored import RESULTS, interval

from delightful.agents.control.config import ControlConfig
from delightful.agents.control.tasks import BENCHMARKING
from delightful.lab.cells import Cell, Plan
from delightful.lab.config import Config
from delightful.lab.selection import plan_for, usable
from delightful.lab.store import Store
from delightful.paper.control.sweep import READINGS
from delightful.registry import METHODS

NEAR = 0.9
# MPO after 500,000 steps, as dreamerv3-scores publishes it, without repeated actions.
PUBLIC_MPO = {
    "acrobot:swingup": 96,
    "cartpole:swingup": 858,
    "cheetah:run": 645,
    "finger:turn_hard": 255,
    "hopper:hop": 48,
    "reacher:easy": 961,
    "walker:run": 568,
    "walker:walk": 940,
}


def amount(rows: Sequence[dict]) -> str:
    """How much of control was run, in a sentence; its claims say whether that decides any."""
    store, ran = Store(RESULTS / "control"), dict[str, str]()
    for sweep in (reading.tasks for reading in READINGS):
        if cells := usable(sweep, plan_for(sweep, store, Plan(), None), store):
            ran[sweep.reading] = _amount(cells)
    texts = list(dict.fromkeys(ran.values()))
    if len(texts) > 1:
        texts = [f"with {reading} {text}" for reading, text in ran.items()]
    decided = any(row["verdict"] not in ("inconclusive", "not run") for row in rows)
    return f"Control was run {'; '.join(texts)}{'' if decided else ': too few to decide much'}."


def _amount(cells: Sequence[Cell]) -> str:
    """The tasks, steps and seeds of some cells."""
    seeds: Counter[Config] = Counter()
    for cell in cells:
        seeds[cell.config] += cell.seeds
    tasks = len({cell.config.task for cell in cells})
    steps, most = _range(config.steps for config in seeds), ControlConfig().steps
    return (
        f"on {tasks} of {len(BENCHMARKING)} tasks, for {steps} of the paper's {most:,} steps, "
        f"with {_range(seeds.values())} seeds"
    )


def _range(numbers: Iterable[int]) -> str:
    """Such as 2, or 2 to 3."""
    found = sorted(set(numbers))
    return f"{found[0]:,} to {found[-1]:,}" if len(found) > 1 else f"{found[0]:,}"


def control() -> str:
    """Final returns by task and method, mean over seeds and each seed's."""
    rows = pl.read_csv(RESULTS / "control" / "figures" / "control-rewards.csv")
    methods = [name for name in ("pg", "ppo", "mpo", "dg") if name in set(rows["method"])]
    names = " | ".join(METHODS[name].label for name in methods)
    lines = [f"| final return | {names} | public MPO, 0.5M steps |"]
    lines.append(f"|---|{'---|' * len(methods)}---|")
    for (task,), mine in rows.group_by("task", maintain_order=True):
        shown = [_seeds(mine.filter(pl.col("method") == name)) for name in methods]
        lines.append(f"| {task} | {' | '.join(shown)} | {PUBLIC_MPO.get(task, '')} |")
    said = "Mean over seeds (each seed's). Public MPO: dreamerv3-scores, 10 seeds, at more steps. "
    said += _short(rows.filter(pl.col("method") == "mpo"))
    lines += ["", said, "", "| MPO after 500,000 steps | ours | public |", "|---|---|---|"]
    equal = pl.read_csv(RESULTS / "control" / "figures" / "control-baseline.csv")
    equal = equal.drop_nulls("final").with_columns(pl.col("seed", "final").cast(float))
    for (task,), mine in equal.group_by("task", maintain_order=True):
        lines.append(f"| {task} | {_seeds(mine)} | {PUBLIC_MPO[task]} |")
    return "\n".join([*lines, "", _short(equal), ""])


def inversion() -> str:
    """How often DG's gate was turned over, and the lead of surprisal relative to the mode."""
    lines = [
        "| | initial deviation | density > 1, first | at the end "
        "| mean gate at the end, U > 0 | U < 0 | mode − density, final return |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    table = RESULTS / "control" / "figures" / "control-inversion.csv"
    rows = pl.read_csv(table, infer_schema_length=None)  # leads come after many rows without any
    for (task, deviation), mine in rows.group_by("task", "deviation", maintain_order=True):
        density = mine.filter(pl.col("surprisal") == "density").sort("step")
        shares, good, bad = (
            density.filter(pl.col("metric") == metric)["mean"].to_list()
            for metric in ("inverted", "gate_good", "gate_bad")
        )
        (lead,) = mine.filter(pl.col("metric").str.starts_with("mode")).rows(named=True)
        shown = f"{shares[0]:.1%} | {shares[-1]:.1%} | {good[-1]:.3f} | {bad[-1]:.3f}"
        lines.append(f"| {task} | {deviation:g} | {shown} | {interval(lead, sign='+')} |")
    seeds = rows["seeds"].min()
    said = f"{seeds} seeds; shares and gates are of DG with −log π(a); Student's 95% intervals."
    return "\n".join([*lines, "", said, ""])


def _seeds(rows: pl.DataFrame) -> str:
    """The mean of final returns, and each seed's."""
    found = rows.sort("seed")["final"].to_list()
    each = ", ".join(f"{value:.0f}" for value in found)
    return f"{sum(found) / len(found):.0f} ({each})" if found else ""


def _short(mpo: pl.DataFrame) -> str:
    """Where ours does not come near the public scores."""
    means = mpo.group_by("task").agg(pl.col("final").mean()).rows()
    short = sorted(task for task, mean in means if mean < NEAR * PUBLIC_MPO.get(task, 0))
    return f"Ours is below {NEAR:.0%} of it on {', '.join(short) or 'none'}."
