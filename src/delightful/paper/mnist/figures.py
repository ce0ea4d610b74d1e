"""Figures 2–4 and 14–19 of the paper, and two beyond it."""

from typing import Any

import polars as pl

from delightful.lab import style
from delightful.lab.curves import label, methods, side_by_side
from delightful.lab.drawing import against, along, at_end, level, percent, ticks
from delightful.lab.experiment import Drawing, Figure
from delightful.paper.mnist import sweep
from delightful.paper.mnist.config import BASELINES
from delightful.paper.mnist.runs import by_option, main_runs

_LINES = ("-", "--", ":", "-.")


def _errors(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    axis.set(ylabel="error on training batches", yscale="log")
    percent(axis)
    return along(axis, main_runs(table), "train_error")


def draw_limit(table: pl.DataFrame) -> Drawing:
    """Final error against samples per image, a panel per baseline; dashed, the PG oracle."""
    names = [b for b in BASELINES if b in set(table["baseline"])]
    figure, axes = style.panels(len(names), width=2.5)
    ends = at_end(table)
    floor = ends.filter(pl.col("samples") == 0, pl.col("method") == "pg")
    drawn = ends.filter(pl.col("samples") > 0)
    parts = []
    for axis, baseline in zip(axes, names, strict=True):
        rows = drawn.filter(pl.col("baseline") == baseline)
        parts.append(against(axis, rows, "samples", "train_error", keys=("method", "baseline")))
        parts.append(level(axis, floor, "train_error", "PG oracle", colour="black", line="--"))
        axis.set(title=f"baseline: {baseline}", yscale="log", xlabel="samples per image S")
        ticks(axis, sorted(drawn["samples"].unique().to_list()))
        percent(axis)
    low, high = zip(*(axis.get_ylim() for axis in axes), strict=True)
    for axis in axes:
        axis.set_ylim(min(low), max(high))
    axes[0].set_ylabel("error at the end of training")
    style.legend(axes[0])
    return Drawing(figure, pl.concat(parts, how="diagonal"))


def _misalignment(oracle: str) -> Any:
    def draw(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
        title = {"pg": "to the PG oracle", "ce": "to the cross-entropy oracle"}[oracle]
        axis.set(title=title, ylabel="misalignment 1 − cos")
        samples = sorted(table["samples"].unique().to_list())
        parts = [
            along(
                axis,
                table.filter(pl.col("samples") == s),
                f"misalignment_{oracle}",
                keys=("method", "samples"),
                named=f", S = {s}",
                linestyle=line,
            )
            for s, line in zip(samples, _LINES, strict=False)
        ]
        axis.set_ylim(bottom=0)
        return pl.concat(parts)

    return draw


def _splits(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    axis.set(title="learning curves", ylabel="error", yscale="log")
    percent(axis)
    rows = table.filter(~pl.col("method").str.contains(":"))
    train = along(axis, rows, "train_error", named=", training")
    val = along(axis, rows, "val_error", named=", validation", linestyle="--")
    style.legend(axis)
    return pl.concat([train, val]).select("method", "step", "mean", "se", "seeds", "metric")


def _temperatures(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    axis.set(title="temperature", xscale="log", xlabel="temperature η", ylabel="error at the end")
    percent(axis)
    rows = by_option(table, "dg", "temperature")
    parts = [
        against(axis, rows, "temperature", metric, named=f", {split}", linestyle=line)
        for split, metric, line in (
            ("training", "train_error", "-"),
            ("validation", "val_error", "--"),
        )
    ]
    style.legend(axis)
    return pl.concat(parts)


def draw_validation(table: pl.DataFrame) -> Drawing:
    """Both panels of Figure 14; their numbers side by side in one table."""
    figure, axes = style.panels(2)
    curves, temperatures = _splits(axes[0], table), _temperatures(axes[1], table)
    for letter, axis in zip("ab", axes, strict=True):
        axis.set_title(f"({letter}) {axis.get_title()}")
    return Drawing(figure, pl.concat([curves, temperatures], how="diagonal"))


def draw_entropy(table: pl.DataFrame) -> Drawing:
    """Final error against the entropy coefficient of PG and against the temperature of DG."""
    figure, (axis,) = style.panels(1, width=4.2, height=2.8)
    ends = at_end(table)
    bonus = against(
        axis,
        ends.filter(pl.col("entropy") > 0),
        "entropy",
        "train_error",
        named=" + entropy bonus, by coefficient",
    )
    gated = by_option(table, "dg", "temperature")
    heat = against(axis, gated, "temperature", "train_error", named=", by η")
    plain = ends.filter(pl.col("method") == "pg", pl.col("entropy") == 0)
    without = level(axis, plain, "train_error", "PG", colour=style.COLOURS["pg"], line="--")
    axis.set(xscale="log", yscale="log", xlabel="coefficient or temperature")
    axis.set_ylabel("error at the end of training")
    percent(axis)
    style.legend(axis, "upper left")
    return Drawing(figure, pl.concat([bonus, heat, without], how="diagonal"))


def _by_steps(axis: Any, rows: pl.DataFrame, field: str) -> list[pl.DataFrame]:
    """A line for each length of runs; shorter ones hollow, since they are not to be compared."""
    longest, *shorter = sorted(rows["steps"].unique().to_list(), reverse=True)
    keys = ("method", "baseline", "steps")
    parts = [against(axis, rows.filter(steps=longest), field, "train_error", keys=keys)]
    for steps in shorter:
        mine, name = rows.filter(steps=steps), f", {steps} steps"
        hollow = {"linestyle": ":", "mfc": "white"}
        parts.append(against(axis, mine, field, "train_error", keys=keys, named=name, **hollow))
    return parts


def _sensitivity(field: str, title: str) -> Any:
    """`draw` of final error against one config field, PG and DG, a panel per baseline."""

    def draw(table: pl.DataFrame) -> Drawing:
        names = [b for b in BASELINES if b in set(table["baseline"])]
        figure, axes = style.panels(len(names), width=2.5 if len(names) > 1 else 3.3)
        ends = at_end(table)
        parts = []
        for axis, baseline in zip(axes, names, strict=True):
            rows = ends.filter(pl.col("baseline") == baseline)
            parts += _by_steps(axis, rows, field)
            axis.set(xscale="log", yscale="log", xlabel=title)
            axis.set_title(f"baseline: {baseline}" if len(names) > 1 else "")
            percent(axis)
        axes[0].set_ylabel("error at the end of training")
        style.legend(axes[0])
        return Drawing(figure, pl.concat(parts))

    return draw


def _form(name: str, parameter: str, symbol: str, title: str) -> Any:
    def draw(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
        ends = at_end(table)
        rows = by_option(table, name, parameter)
        numbers = against(axis, rows, parameter, "train_error")
        product = ends.filter(pl.col("method") == "dg")
        dg = level(axis, product, "train_error", "DG", colour=style.COLOURS["dg"], line=":")
        axis.set(title=title, xlabel=symbol, ylabel="error at the end of training")
        percent(axis)
        style.legend(axis)
        return pl.concat([numbers, dg], how="diagonal")

    return draw


def draw_depth(table: pl.DataFrame) -> Drawing:
    """Learning curves, a panel for each number of hidden layers."""
    rows = main_runs(table)
    depths = sorted(rows["layers"].unique().to_list(), reverse=True)
    figure, axes = style.panels(len(depths))
    parts = []
    for axis, layers in zip(axes, depths, strict=True):
        mine = rows.filter(layers=layers)
        parts.append(along(axis, mine, "train_error", keys=("method", "layers")))
        axis.set(title=f"hidden layers: {layers}", yscale="log")
        percent(axis)
    low, high = zip(*(axis.get_ylim() for axis in axes), strict=True)
    for axis in axes:
        axis.set_ylim(min(low), max(high))
    axes[0].set_ylabel("error on training batches")
    style.legend(axes[0])
    return Drawing(figure, pl.concat(parts))


def draw_gate(table: pl.DataFrame) -> Drawing:
    """What DG's gate does along training: its mean by outcome, and the shares of its values."""
    figure, axes = style.panels(2)
    name = next((m for m in methods(table) if m.startswith("dg")), methods(table)[0])
    rows = main_runs(table).filter(pl.col("method") == name)
    kinds = (
        {"gate_right": "right answers", "gate_wrong": "wrong answers"},
        {"gate_suppressed": "below 0.2", "gate_neutral": "0.4 to 0.6", "gate_open": "above 0.8"},
    )
    shades = (("#2ca02c", "#d62728"), ("#d62728", "#7f7f7f", "#2ca02c"))
    parts = []
    for axis, metrics, colours in zip(axes, kinds, shades, strict=True):
        for (metric, text), colour in zip(metrics.items(), colours, strict=True):
            parts.append(along(axis, rows, metric, named=text, colour=colour))
    axes[0].set(title=f"(a) mean gate of {label(name)}", ylabel="gate w", ylim=(0, 1))
    axes[1].set(title="(b) share of actions by gate", ylabel="share", yscale="log")
    style.legend(axes[0])
    style.legend(axes[1], (0.6, 0.62))  # between the lines
    return Drawing(figure, pl.concat(parts))


FIGURES = (
    Figure(
        "mnist/error",
        "Figure 2",
        "MNIST classification error",
        "Error 1 − π(y|x) on the training batches, each before its update. Supervised CE sees "
        "labels; PG and DG see only whether a drawn digit was right. Mean over seeds, band ±1 "
        "standard error.",
        side_by_side(_errors),
        sweep.CURVES,
    ),
    Figure(
        "mnist/limit",
        "Figure 3",
        "Error against samples per image, by baseline",
        "Error over the last 400 steps of 10,000. Dashed: training with the exact PG-oracle "
        "gradient, PG's limit as S → ∞.",
        draw_limit,
        sweep.LIMIT,
    ),
    Figure(
        "mnist/alignment",
        "Figure 4",
        "Gradient misalignment over training",
        "1 − cos between a batch's gradient and an oracle's on the same batch, in the space of "
        "all weights, at S = 1 (solid) and S = 100 (dashed).",
        side_by_side(_misalignment("pg"), _misalignment("ce")),
        sweep.ALIGNMENT,
    ),
    Figure(
        "mnist/validation",
        "Figure 14",
        "Generalisation",
        "Training (solid) against validation (dashed): (a) along training, (b) at its end against "
        "the temperature.",
        draw_validation,
        sweep.TEMPERATURE,
    ),
    Figure(
        "mnist/entropy",
        "Figure 15",
        "Entropy regularisation against temperature",
        "PG with an entropy bonus of each coefficient, and DG at each temperature.",
        draw_entropy,
        sweep.ENTROPY,
    ),
    Figure(
        "mnist/learning-rate",
        "Figure 16",
        "Learning rate",
        "Error at the end of training. At the paper's scale a panel per baseline, at the quick "
        "scale the default one.",
        _sensitivity("learning_rate", "learning rate"),
        sweep.RATE,
    ),
    Figure(
        "mnist/batch",
        "Figure 17",
        "Batch size",
        "Error at the end of training. At the quick scale B = 1000 has 2,000 steps, not 10,000.",
        _sensitivity("batch", "batch size B"),
        sweep.BATCH,
    ),
    Figure(
        "mnist/width",
        "Figure 18",
        "Network width",
        "Error at the end of training. At the quick scale widths from 1024 have 500 steps, not "
        "10,000: compare the methods there, not the widths.",
        _sensitivity("width", "hidden width W"),
        sweep.WIDTH,
    ),
    Figure(
        "mnist/structure",
        "Figure 19",
        "Alternative definitions of delight",
        "(a) σ((1−α)U + αℓ)·U. (b) σ(U·ℓ^β)·U. Dotted: the product, DG.",
        side_by_side(
            _form("additive", "alpha", "mixture α", "additive mixtures"),
            _form("exponent", "beta", "exponent β", "surprisal exponent"),
        ),
        sweep.STRUCTURE,
    ),
    Figure(
        "mnist/depth",
        "beyond the paper",
        "One hidden layer or two",
        "The paper's 'two-layer' network read as two hidden layers, the default, or as one.",
        draw_depth,
        sweep.DEPTH,
    ),
    Figure(
        "mnist/gate",
        "beyond the paper",
        "What the gate does to MNIST",
        "In expectation over the policy's actions on fresh batches: right answers are mostly "
        "expected, with a gate near ½; wrong ones are mostly surprises, and are held back.",
        draw_gate,
        sweep.CURVES,
    ),
)
