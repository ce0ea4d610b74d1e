"""What the figures on frictions show."""

import polars as pl
import pytest
from matplotlib import pyplot as plt

from delightful.lab import style
from delightful.lab.cells import Plan
from delightful.paper.frictions import EXPERIMENT
from delightful.paper.frictions.sweep import DIFFICULTY, FRICTIONS

FIGURES = {figure.id.removeprefix("frictions/"): figure for figure in EXPERIMENT.figures}


def drawn(name, table):
    with style.context():
        drawing = FIGURES[name].draw(table)
        drawing.figure.canvas.draw()
        plt.close(drawing.figure)
    return drawing


def error(config):
    """Of two learning rates, the higher is better; strengths add up."""
    worse = 0.1 if config.learning_rate < 1e-3 else 0.0
    strength = config.bugs + config.corruption + config.discovery + config.delay / 1000
    return {"dg": 0.05}.get(config.method, 0.1) + worse + strength / 4


@pytest.mark.parametrize("name", ["tokens", "mnist"])
def test_errors_against_strength_at_the_best_rates(runs, name) -> None:
    seeds = 3
    table = runs(FIGURES[name].sweep, error, Plan("quick"), seeds)
    numbers = drawn(name, table).numbers
    assert set(numbers["friction"]) == {*FRICTIONS, "all"}
    none = numbers.filter(pl.col("strength") == 0, pl.col("method") == "dg")
    assert none["mean"].to_list() == pytest.approx([0.05] * 5)  # on every grid, never + 0.1
    at = numbers.filter(pl.col("friction") == "bugs", pl.col("strength") == 0.3)
    assert at.filter(pl.col("method") == "pg")["mean"].item() == pytest.approx(0.175)
    assert set(numbers["seeds"]) == {seeds}


def test_curves_and_batches_by_length(runs) -> None:
    def falls(config):
        share = 1 if config.method == "dg" else 3
        return [0.5] * share * (config.length // 5) + [0.05] * (10 - share * (config.length // 5))

    table = runs(DIFFICULTY, falls, Plan("quick"), 3)
    curves = drawn("curves", table).numbers
    assert set(curves["length"]) == {5, 10}
    numbers = drawn("difficulty", table).numbers.filter(pl.col("length") == 10)
    batches = dict(numbers.select("method", "mean").rows())
    assert batches["dg"] == 120  # the third of ten records of 400 batches
    assert batches["pg"] == 280
