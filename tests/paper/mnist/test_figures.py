"""Every figure of MNIST, drawn from runs whose outcome is known: it shows those numbers."""

import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot as plt

from delightful.lab import style
from delightful.lab.cells import Plan
from delightful.paper.mnist.config import BASELINES
from delightful.paper.mnist.figures import FIGURES

BY_ID = {figure.id.removeprefix("mnist/"): figure for figure in FIGURES}
SMOKE, PAPER, AWR = Plan("smoke"), Plan("paper"), Plan("paper", methods=("awr",))


def error(config):
    """Another for every method, baseline and number of samples."""
    start = {"pg": 0.3, "dg": 0.2, "ce": 0.1}.get(config.method, 0.25)
    return start + 0.01 * BASELINES.index(config.baseline) + 0.02 / (1 + config.samples)


@pytest.fixture
def drawn(runs):
    """Draws a figure as `delightful figure` would, and closes it after the test."""

    def draw(name, plan, seeds=8):
        figure = BY_ID[name]
        with style.context():
            return figure.draw(runs(figure.sweep, error, plan, seeds))

    yield draw
    plt.close("all")


def lines(drawing):
    """The values of every line; a level that spans its panel is one value."""
    every = [line for axis in drawing.figure.axes for line in axis.get_lines()]
    return [y[:1] if list(x) == [0, 1] else y for x, y in (line.get_data() for line in every)]


@pytest.mark.parametrize("plan", [SMOKE, PAPER], ids=["smoke", "paper"])
@pytest.mark.parametrize("name", BY_ID)
def test_the_lines_are_the_numbers(drawn, name, plan):
    drawing = drawn(name, plan)
    shown = np.concatenate(lines(drawing))
    assert sorted(shown) == sorted(drawing.numbers["mean"])
    assert len(shown) > 0
    assert set(drawing.numbers["seeds"]) == {8}
    assert drawing.numbers["se"].null_count() == 0
    drawing.figure.canvas.draw()  # to the last pixel, where a scale may turn out not to fit


@pytest.mark.parametrize("name", BY_ID)
def test_a_single_seed_has_means_but_no_errors(drawn, name):
    drawing = drawn(name, SMOKE, seeds=1)
    assert drawing.numbers["mean"].null_count() == 0
    assert drawing.numbers["se"].null_count() == len(drawing.numbers) > 0
    assert not any(axis.collections for axis in drawing.figure.axes)  # no bands either


@pytest.mark.parametrize("seeds", [1, 8])
@pytest.mark.parametrize("name", sorted(set(BY_ID) - {"structure"}))
def test_one_method_alone_is_drawn_too(drawn, name, seeds):
    drawing = drawn(name, AWR, seeds)
    assert drawing.numbers["mean"].null_count() == 0
    assert {name.lower() for name in drawing.numbers["method"]} == {"awr"}
    assert lines(drawing)


def test_a_figure_of_other_forms_has_nothing_of_runs_without_them(drawn):
    assert drawn("structure", AWR).numbers.is_empty()


def test_figures_2_to_4_are_those_of_the_main_text():
    main = {figure.number for figure in FIGURES if not figure.appendix}
    assert main == {"Figure 2", "Figure 3", "Figure 4"}


def test_figure_2_shows_the_error_of_each_method(drawn):
    drawing = drawn("error", PAPER)
    (axis,) = drawing.figure.axes
    by_label = {line.get_label(): line for line in axis.get_lines()}
    assert set(by_label) == {"PG", "DG", "CE"}
    for label, line in by_label.items():
        numbers = drawing.numbers.filter(pl.col("method") == label.lower())
        assert list(line.get_xdata()) == numbers["step"].to_list() == [5_000, 10_000]
        assert list(line.get_ydata()) == numbers["mean"].to_list()
    assert by_label["DG"].get_ydata() == pytest.approx([0.23, 0.23])  # b expected, S = 1


def test_figure_3_has_a_panel_for_each_baseline_and_the_oracle_in_all(drawn):
    drawing = drawn("limit", PAPER)
    assert [axis.get_title() for axis in drawing.figure.axes] == [
        f"baseline: {b}" for b in BASELINES
    ]
    for axis, baseline in zip(drawing.figure.axes, BASELINES, strict=True):
        pg, dg, oracle = axis.get_lines()
        assert [line.get_label() for line in (pg, dg, oracle)] == ["PG", "DG", "PG oracle"]
        assert oracle.get_ydata() == pytest.approx([0.32, 0.32])
        for line, method in ((pg, "pg"), (dg, "dg")):
            rows = pl.col("method") == method, pl.col("baseline") == baseline
            numbers = drawing.numbers.filter(*rows)
            assert list(line.get_xdata()) == numbers["samples"].to_list() == [1, 3, 10, 30, 100]
            assert list(line.get_ydata()) == numbers["mean"].to_list()
        assert pg.get_ydata() - dg.get_ydata() == pytest.approx(np.full(5, 0.1))


def test_figure_4_tells_the_numbers_of_samples_apart(drawn):
    for axis in drawn("alignment", PAPER).figure.axes:
        styles = {line.get_label(): line.get_linestyle() for line in axis.get_lines()}
        assert styles == {
            "PG, S = 1": "-",
            "DG, S = 1": "-",
            "PG, S = 100": "--",
            "DG, S = 100": "--",
        }


@pytest.mark.parametrize("name", ["batch", "width"])
def test_runs_of_fewer_steps_are_told_apart_in_the_numbers(drawn, name):
    numbers = drawn(name, Plan("quick")).numbers
    assert set(numbers["steps"]) == {500 if name == "width" else 2_000, 10_000}
    assert set(numbers.filter(pl.col("steps") < 10_000)[name]) <= {1000.0, 1024.0, 2048.0}
