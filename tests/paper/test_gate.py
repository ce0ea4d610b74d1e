"""Figures 1 and 13 hold the numbers of every method, also of one registered just now."""

import jax
import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot as plt

from delightful import METHODS
from delightful.lab.config import canonical
from delightful.paper.bandit import train
from delightful.paper.bandit.config import BanditConfig
from delightful.paper.contexts.config import ContextsConfig
from delightful.paper.gate.figures import FIGURES, coefficient, compare
from delightful.registry import method


@pytest.fixture(autouse=True)
def no_figure_left_open():
    yield
    plt.close("all")


@pytest.fixture
def bold():
    """A method of the reader's own: failures count κ times as much as successes."""

    @method("bold", "Bold")
    def weight(batch, kappa=1.0):
        U = batch.advantage
        return batch.xp.where(U > 0, U, kappa * U)

    yield "bold"
    del METHODS["bold"]


def dg_by_hand(rows):
    U, p = rows["U"].to_numpy(), rows["p"].to_numpy()
    return U / (1 + np.exp(U * np.log(p)))


def test_the_figures_are_numbered_as_in_the_paper():
    assert {f.id: f.number for f in FIGURES} == {
        "gate/coefficient": "Figure 1",
        "gate/compare": "Figure 13",
    }


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_a_figure_draws_finite_numbers(figure):
    drawing = figure.draw()
    assert drawing.numbers.height > 100
    assert np.all(np.isfinite(drawing.numbers.select("U", "p", "omega").to_numpy()))
    assert all(axis.lines for axis in drawing.figure.axes if axis.get_visible())


def test_the_coefficient_is_the_gate_times_the_advantage():
    numbers = coefficient().numbers
    dg, pg = (numbers.filter(pl.col("method") == name) for name in ("dg", "pg"))
    assert dg["omega"].to_numpy() == pytest.approx(dg_by_hand(dg), abs=1e-12)
    assert pg["omega"].to_list() == pg["U"].to_list()
    assert set(dg.filter(pl.col("panel") == "a")["p"]) == {0.9, 0.1, 0.01}
    assert set(dg.filter(pl.col("panel") == "b")["U"]) == {1.0, -1.0}


@pytest.mark.parametrize("draw", [coefficient, compare])
def test_the_lines_drawn_are_the_numbers_written(draw):
    drawing = draw()
    drawn = [axis.lines for axis in drawing.figure.axes if axis.get_visible()]
    heights = np.concatenate([line.get_ydata() for lines in drawn for line in lines])
    written = drawing.numbers["omega"].to_numpy()
    zero_lines = heights.size - written.size  # two points for each axhline
    assert sorted(np.concatenate([written, np.zeros(zero_lines)])) == pytest.approx(sorted(heights))


def test_the_comparison_holds_every_registered_method():
    drawing = compare()
    numbers = drawing.numbers
    assert set(numbers["method"]) == set(METHODS)
    assert set(numbers["p"]) == {0.9, 0.01}
    titles = [axis.get_title() for axis in drawing.figure.axes if axis.get_visible()]
    assert titles == [found.label for found in METHODS.values()]
    dg = numbers.filter(pl.col("method") == "dg")
    assert dg["omega"].to_numpy() == pytest.approx(dg_by_hand(dg), abs=1e-12)


@pytest.mark.parametrize("name", ["ppo", "grpo"])
@pytest.mark.parametrize(("p", "ratio"), [(0.9, 1.8), (0.01, 0.02)])
def test_trust_region_methods_are_shown_against_an_old_probability_of_one_half(name, p, ratio):
    rows = compare().numbers.filter((pl.col("method") == name) & (pl.col("p") == p))
    U, omega = rows["U"].to_numpy(), rows["omega"].to_numpy()
    if name == "grpo":
        U = (U - U.mean()) / U.std()
    clipped = U > 0 if ratio > 1 else U < 0
    assert np.all(omega[clipped & (np.abs(U) > 1e-9)] == 0)
    assert omega[~clipped] == pytest.approx(ratio * U[~clipped], rel=1e-6, abs=1e-9)


def test_a_method_registered_just_now_is_compared(bold):
    drawing = compare()
    rows = drawing.numbers.filter(pl.col("method") == bold)
    assert rows["omega"].to_list() == rows["U"].to_list()  # at its default, κ = 1
    assert "Bold" in [axis.get_title() for axis in drawing.figure.axes]


def test_a_method_registered_just_now_trains_with_its_option(bold):
    config = BanditConfig(method=f"{bold}:kappa=0.3", actions=4, batch=32, steps=6)
    assert canonical(config).method == "bold:kappa=0.3"
    curves = train.run(config, np.arange(2))
    for seed in range(2):  # the first step by hand: the policy is uniform
        u = np.asarray(jax.random.uniform(jax.random.key(seed), (6, 32)))[0]
        taken = np.eye(4)[(4 * u).astype(int)]
        omega = np.where(taken[:, 0] == 1, 0.5, 0.3 * -0.5)
        g, target = omega @ (taken - 0.25), np.eye(4)[0] - 0.25
        gap = 1 - g @ target / np.linalg.norm(g) / np.linalg.norm(target)
        assert curves["misalignment"][seed, 0] == pytest.approx(gap, abs=1e-6)
    assert np.all(curves["error"][:, -1] < curves["error"][:, 0])


def test_a_method_registered_just_now_may_train_in_contexts(bold):
    ContextsConfig(method=bold).check()
