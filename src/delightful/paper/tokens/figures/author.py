"""Beyond the paper: our trainer with the settings of the author's public code, beside that code."""

import os
from typing import Any

import polars as pl

from delightful.lab import style
from delightful.lab.errors import LabError
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import along, label, letter, methods, percent
from delightful.lab.tables import means
from delightful.paper.tokens import sweep
from delightful.paper.tokens.runs import ends

figures = FigureBook("tokens")

REGRETS: dict[tuple[str, int], tuple[float, ...]] = {
    ("dg", 0): (0.032, 0.039),
    ("pg", 0): (0.035, 0.067),
    ("pmpo", 0): (0.039,),
    ("dg", 10): (0.054, 0.061),
    ("ppo", 10): (0.097, 0.105),
    ("pg", 10): (0.499,),
    ("pmpo", 10): (0.495,),
    ("pmpo:preference=1.0", 10): (0.076,),
}
"""1 − mean reward over 1,000 steps of the author's code (`egg`, public since April 2026) with its
defaults, by method and largest delay; one number per seed."""

CURVES = "DELIGHTFUL_AUTHOR_CURVES"
_COLUMNS = {"loss", "parameter", "max_delay", "seed", "step", "reward"}


def author_curves() -> pl.DataFrame | None:
    """Error along training of the author's code, by method, delay and seed.

    Returns:
        The curves of the CSV file that the environment variable names; None if it names none.
    """
    path = os.environ.get(CURVES)
    if not path:
        return None
    try:
        found = pl.read_csv(path, schema_overrides={"parameter": pl.Float64})
    except (OSError, pl.exceptions.PolarsError) as error:
        raise LabError(f"{CURVES} must name a CSV file, got {path!r}: {error}.") from None
    if missing := _COLUMNS - set(found.columns):
        raise LabError(f"{path} must have the columns {', '.join(sorted(missing))}.")
    of_successes = (pl.col("loss") == "pmpo") & (pl.col("parameter") == 1)
    method = (
        pl.when(of_successes)
        .then(pl.lit("pmpo:preference=1.0"))
        .otherwise(pl.col("loss").replace({"reinforce": "pg"}))
    )
    return found.with_columns(method=method, delay="max_delay", error=1 - pl.col("reward"))


def _theirs(axis: Any, curves: pl.DataFrame, delay: int) -> None:
    """The author's curves, dotted."""
    for spec in methods(curves):
        for _, run in curves.filter(method=spec, delay=delay).group_by("seed"):
            run = run.sort("step")  # noqa: PLW2901
            axis.plot(run["step"], run["error"], ":", color=style.colour(spec), lw=1)


@figures.add("beyond the paper", "The author's code", sweep=sweep.AUTHORS, appendix=True)
def author(table: pl.DataFrame) -> Drawing:
    """Our trainer with the author's settings (3 layers, 4 heads, no final LayerNorm, Adam 3e-4, one
    update per batch): (a) fresh actors, (b) actors up to 10 updates old, all of a batch alike;
    dotted, curves of the author's code if there is a file of them. (c) Error averaged over
    training: pale dots are our seeds, a full one is their mean, crosses are seeds of the author's
    code."""
    figure, axes = style.panels(3, width=3.0)
    curves, parts = author_curves(), []
    delays = sorted(table["delay"].unique().to_list())
    for axis, delay in zip(axes, delays, strict=False):
        mine = table.filter(pl.col("delay") == delay)
        parts.append(along(axis, mine, "error", keys=("method", "delay")))
        if curves is not None:
            _theirs(axis, curves, delay)
        title = f"actors up to {delay} updates old" if delay else "fresh actors"
        axis.set(title=title, xlabel="batches of episodes")
        axis.set_ylim(0, 0.6)
        percent(axis)
    runs = ends(table)
    regrets = means(runs, "regret", ("method", "delay")).with_columns(metric=pl.lit("regret"))
    _regrets(axes[2], runs, regrets)
    axes[0].set_ylabel("sequence error")
    style.legend(axes[0])
    letter(axes)
    return Drawing(figure, pl.concat([*parts, regrets], how="diagonal_relaxed"))


def _regrets(axis: Any, runs: pl.DataFrame, regrets: pl.DataFrame) -> None:
    """Ours as dots, the author's as crosses, a row for each method and delay."""
    rows = regrets.sort("delay", "method").select("method", "delay", "mean").rows()
    for place, (spec, delay, mean) in enumerate(rows):
        ours = runs.filter(method=spec, delay=delay)["regret"].to_list()
        axis.plot(ours, [place] * len(ours), "o", color=style.colour(spec), ms=3, mew=0, alpha=0.3)
        axis.plot([mean], [place], "o", color=style.colour(spec), ms=4)
        theirs = REGRETS.get((spec, delay), ())
        axis.plot(theirs, [place] * len(theirs), "x", color=style.colour(spec), ms=5)
    axis.set_yticks(range(len(rows)), labels=[f"{label(spec)}, D = {d}" for spec, d, _ in rows])
    axis.tick_params(axis="y", labelsize=6)
    axis.set(title="average error", xlabel="error", xlim=(0, None))
