"""Figures of tables made up so that the answer is known."""

import numpy as np
import polars as pl
import pytest
from made_up import GOOD, runs

from delightful.lab import style
from delightful.lab.cells import Plan
from delightful.lab.verdicts import NotMeasuredError
from delightful.paper.control import EXPERIMENT
from delightful.paper.control.figures import gate, grid
from delightful.paper.control.figures import tasks as figures
from delightful.paper.control.sweep import (
    CHOICES,
    GATES,
    GRID,
    GRID_TASKS,
    KLS,
    OF_FRESH,
    OF_REPLAYED,
    QUICK_TASKS,
    SWEEPS,
)


def test_every_figure_is_drawn_from_part_of_its_runs():
    table = runs({"cheetah:run": GOOD, "walker:walk": {"dg": 3.0}}, inverted=0.1)
    density = table.with_columns(surprisal=pl.lit("density"), deviation=0.5)
    with style.context():
        for draw in (figures.rewards, figures.curves, figures.regret):
            assert draw(density).numbers.height > 0
        for draw in (gate.inversion, figures.tuning):
            with pytest.raises(NotMeasuredError, match="it needs"):
                draw(density)


def test_either_surprisal_is_drawn_wherever_both_were_run():
    ends = {"density": 500.0, "mode": 520.0}
    gates = {"gate_good": 0.6, "gate_bad": 0.3}
    parts = [
        runs({task: {"dg": end}}, surprisal=kind, deviation=deviation, inverted=deviation, **gates)
        for kind, end in ends.items()
        for task, deviation in (("cartpole:swingup", 0.5), ("cartpole:swingup", 0.2))
    ]
    other = {"surprisal": "mode", "deviation": 0.5, "inverted": 0.0, **gates}
    alone = runs({"cheetah:run": {"dg": 1.0}}, **other)
    with style.context():
        drawing = gate.inversion(pl.concat([*parts, alone]))
    assert len(drawing.figure.axes) == 6  # not where one of them is missing
    drawn = drawing.numbers
    inverted = drawn.filter(pl.col("metric") == "inverted")
    assert inverted.filter(pl.col("mean") == pl.col("deviation")).height == inverted.height
    assert set(drawn.filter(pl.col("metric") == "gate_bad")["mean"]) == {0.3}
    lead = drawn.filter(pl.col("metric") == "mode − density at the end")
    assert lead["deviation"].to_list() == [0.2, 0.5]
    assert lead["mean"].to_list() == pytest.approx([18.0, 18.0])  # of the last five evaluations


def test_a_figure_repeats_to_the_byte():
    table = runs(dict.fromkeys(QUICK_TASKS, GOOD), seeds=3)
    noise = pl.Series("deterministic", np.random.default_rng(0).normal(size=table.height))
    with style.context():
        drawn = {figures.regret(table.with_columns(noise)).numbers.write_csv() for _ in range(4)}
    assert len(drawn) == 1


def test_the_legend_names_every_method_that_is_drawn():
    table = runs(dict.fromkeys(QUICK_TASKS[1:5], GOOD) | {"acrobot:swingup": {"pg": 3.0}})
    with style.context():
        figure = figures.curves(table).figure
    (legend,) = [axis.get_legend() for axis in figure.axes if axis.get_legend()]
    assert sorted(text.get_text() for text in legend.get_texts()) == ["DG", "MPO", "PG", "PPO"]


def test_every_scale_has_its_cells_and_the_paper_its_84_runs_of_each_method():
    for sweep in (OF_REPLAYED.tasks, OF_FRESH.tasks):
        cells = sweep.cells(Plan("paper"))
        assert len(cells) == 28 * 4 * 3
        assert {cell.config.steps for cell in cells} == {10_000_000}
        assert len(sweep.cells(Plan("quick"))) == len(QUICK_TASKS) * 4 * 3
    for sweep in SWEEPS:
        for scale in sweep.seeds:
            assert sweep.cells(Plan(scale))
    drawn = {figure.sweep.name for figure in EXPERIMENT.figures}
    assert drawn == {sweep.name for sweep in SWEEPS}
    for sweeps, reading in ((OF_REPLAYED, "replayed"), (OF_FRESH, "fresh")):
        for sweep in sweeps:
            assert sweep.reading in EXPERIMENT.readings
            ours = [c.config for c in sweep.cells(Plan("smoke")) if hasattr(c.config, "reading")]
            assert {config.reading for config in ours} == {reading}


def test_the_gate_is_drawn_for_both_readings():
    gates = {"gate_good": 0.7, "gate_bad": 0.2, "measured_surprisal": 3.0, "inverted": 0.1}
    parts = [
        runs({"cheetah:run": {"dg": 1.0}}, reading=reading, **gates)
        for reading in ("replayed", "fresh")
    ]
    with style.context():
        drawing = gate.gates(pl.concat(parts))
    assert len(drawing.figure.axes) == 3
    assert set(drawing.numbers["metric"]) == set(gates)
    assert set(drawing.numbers["reading"]) == {"replayed", "fresh"}
    assert {cell.config.reading for cell in GATES.cells(Plan("quick"))} == {"replayed", "fresh"}


def test_figures_10_to_12_are_those_of_the_main_text():
    main = [figure.number for figure in EXPERIMENT.figures if not figure.appendix]
    assert main == ["Figure 10", "Figure 11", "Figure 12"]


def test_the_grid_shows_each_methods_kl_weights_and_the_shared_choices():
    columns = ("method", "task", "kl", "advantage", "batch", "every", "length", "draws")
    parts = []
    for cell in GRID.cells(Plan("quick")):
        fields = {name: getattr(cell.config, name) for name in (*columns, "least_deviation")}
        task, method = fields.pop("task"), fields.pop("method")
        varied = " ".join(cell.varied)
        parts.append(runs({task: {method: 10 * cell.config.kl}}, varied=varied, **fields))
    with style.context():
        drawing = grid.grid(pl.concat(parts))
    assert len(drawing.figure.axes) == 2 * len(GRID_TASKS)
    by_kl = drawing.numbers.filter(pl.col("choice").is_null())
    assert set(by_kl["kl"]) == set(KLS)
    assert set(by_kl["method"]) == {"dg", "mpo", "pg", "ppo"}
    bars = drawing.numbers.filter(pl.col("choice").is_not_null())
    assert bars.height == len(GRID_TASKS) * 2 * len(CHOICES)
