"""Control's page: returns beside public scores, and how often the gate was inverted."""

import polars as pl
from results import RESULTS, interval

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
