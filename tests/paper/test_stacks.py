"""The comparison of plain and delightful frameworks, without the frameworks."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.stats

from delightful.lab.cells import Plan
from delightful.lab.verdicts import NotMeasuredError
from delightful.paper.stacks.config import StackConfig
from delightful.paper.stacks.figures import FIGURES, arm, by, compare, harm
from delightful.paper.stacks.sweep import FRESH, STALE
from delightful.paper.stacks.train import by_record, gating, record_steps
from delightful.plugins.gating import DelightConfig


def test_scores_are_averaged_per_record_and_a_record_without_any_takes_the_last():
    config = StackConfig(steps=100, records=4)
    found = [(10, 1.0), (25, 3.0), (26, 5.0), (80, 7.0)]
    np.testing.assert_array_equal(record_steps(config), [25, 50, 75, 100])
    np.testing.assert_array_equal(by_record(config, found), [2.0, 5.0, 5.0, 7.0])
    np.testing.assert_array_equal(by_record(config, [(60, 4.0)]), [4.0, 4.0, 4.0, 4.0])


def test_plain_is_the_framework_alone_and_delightful_has_unit_gain():
    assert gating("pg") is None
    assert gating("dg:temperature=0.5,whiten=scale") == DelightConfig(
        temperature=0.5, whiten="scale", unit_gain=True
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"method": "ppo"}, "method must be pg or dg"),
        ({"stack": "acme"}, "stack must be one of trl, verl, sb3, rllib, torchrl"),
        ({"stack": "trl"}, "algorithm must be one of grpo"),
        ({"steps": 5}, "steps must be at least records"),
        ({"staleness": -1}, "staleness must be at least 0"),
        ({"stack": "rllib", "staleness": 3}, "staleness must be 0 for rllib"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        StackConfig(**changes).check()


def test_every_framework_has_five_seeds_of_three_arms():
    for sweep in FRESH:
        cells = sweep.cells(Plan("quick"))
        tasks = {(c.config.algorithm, c.config.task) for c in cells}
        assert len(cells) == 5 * 3 * len(tasks)
        assert {arm(c.config.method) for c in cells} == {
            "plain",
            "delightful",
            "delightful, whiten=scale",
        }


def test_stale_runs_differ_from_fresh_ones_in_nothing_else():
    fresh = {cell.id for sweep in FRESH for cell in sweep.cells(Plan("quick"))}
    for sweep in STALE:
        cells = sweep.cells(Plan("quick"))
        assert {cell.config.staleness for cell in cells} == {0, 3, 10}
        assert {arm(cell.config.method) for cell in cells} == {"plain", "delightful"}
        assert {cell.id for cell in cells if cell.config.staleness == 0} <= fresh
        for cell in cells:
            again = replace(cell, config=replace(cell.config, staleness=0))
            assert again.id in fresh
    tasks = {(c.config.stack, c.config.algorithm) for s in STALE for c in s.cells(Plan("quick"))}
    assert tasks == {
        ("trl", "grpo"),
        ("verl", "grpo"),
        ("sb3", "ppo"),
        ("sb3", "a2c"),
        ("torchrl", "a2c"),
    }


@pytest.fixture
def table():
    """Four seeds, eight records; delightful is 2 ahead on average, and alike seed by seed."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(4, 8)) * 10
    arms = {"pg": base, "dg": base + 2 + 0.1 * rng.normal(size=(4, 8))}
    return pl.DataFrame(
        [
            {"algorithm": "ppo", "task": "T", "method": m, "seed": s, "step": r, "score": x[s, r]}
            for m, x in arms.items()
            for s in range(4)
            for r in range(8)
        ]
    )


def test_differences_are_paired_by_seed(table):
    numbers = compare(table)
    row = numbers.row(
        by_predicate=(pl.col("less") == "plain") & (pl.col("over") == "last quarter"), named=True
    )
    last = {
        m: table.filter(pl.col("method") == m)["score"].to_numpy().reshape(4, 8)[:, 6:]
        for m in ("pg", "dg")
    }
    lead = (last["dg"] - last["pg"]).mean(axis=1)
    interval = scipy.stats.t.interval(0.95, 3, lead.mean(), scipy.stats.sem(lead))
    np.testing.assert_allclose((row["mean"], row["low"], row["high"]), (lead.mean(), *interval))
    assert row["low"] > 1.5  # unpaired, the seeds' own spread would hide it
    assert row["seeds"] == 4


def test_a_method_alone_is_shown_without_a_lead(table):
    numbers = compare(table.filter(pl.col("method") == "dg"))
    assert set(numbers["less"]) == {""}
    assert set(numbers["arm"]) == {"delightful"}


def test_each_framework_has_a_figure(table):
    drawing = FIGURES[0].draw(table)
    assert drawing.numbers.columns[:4] == ["algorithm", "task", "arm", "less"]
    assert len(drawing.figure.axes) == 1


@pytest.fixture
def stale(table):
    """Two frameworks; data of staleness 10 cost the framework alone 5, and its plug-in nothing."""
    harm = pl.when((pl.col("staleness") > 0) & (pl.col("method") == "pg")).then(5.0).otherwise(0.0)
    return pl.concat(
        table.with_columns(stack=pl.lit(stack), staleness=pl.lit(level))
        for stack in ("sb3", "trl")
        for level in (0, 10)
    ).with_columns(score=pl.col("score") - harm)


def test_leads_are_compared_at_each_staleness(stale):
    leads = by(stale, "stack", "staleness").filter(
        pl.col("less") == "plain", pl.col("over") == "whole run"
    )
    assert leads.select("stack", "staleness").rows() == [
        ("sb3", 0),
        ("sb3", 10),
        ("trl", 0),
        ("trl", 10),
    ]
    np.testing.assert_allclose(leads["mean"], [2, 7, 2, 7], atol=0.1)
    assert (leads["low"] > 0).all()


def test_seeds_that_an_arm_lacks_are_left_out_of_all(stale):
    lacking = stale.filter((pl.col("method") != "dg") | (pl.col("seed") != 1))
    assert set(by(lacking, "stack", "staleness")["seeds"]) == {3}
    alone = stale.filter((pl.col("method") == "dg") == (pl.col("seed") == 1))
    with pytest.raises(NotMeasuredError, match="the same seed in all arms"):
        by(alone, "stack", "staleness")


def test_harm_of_staleness_is_paired_by_seed(stale):
    found = harm(stale).filter(pl.col("over") == "last quarter", pl.col("stack") == "trl")
    assert found.select("staleness", "arm").rows() == [(10, "delightful"), (10, "plain")]
    np.testing.assert_allclose(found["mean"], [0, -5], atol=1e-9)
    np.testing.assert_allclose(found["high"] - found["low"], 0, atol=1e-9)


def test_staleness_is_drawn_for_both_spans_of_every_task(stale):
    figures = {figure.id: figure for figure in FIGURES}
    drawing = figures["stacks/staleness"].draw(stale)
    assert len(drawing.figure.axes) == 4
    for axis in drawing.figure.axes:
        assert [label.get_text() for label in axis.get_xticklabels()] == ["0", "10"]
        assert len(axis.containers) == 2  # plain and delightful
    curves = figures["stacks/staleness-curves"].draw(stale)
    assert len(curves.figure.axes) == 4
    assert curves.numbers.equals(drawing.numbers)


def test_figures_on_stale_data_say_how_many_seeds_both_arms_have(stale):
    """At each level all that plain and delightful share; the figure of all levels, how many."""
    lacking = (pl.col("stack") == "sb3") & (pl.col("staleness") == 10) & (pl.col("seed") > 1)
    part = stale.filter(~(lacking & (pl.col("method") == "dg")))
    figures = {figure.id: figure for figure in FIGURES}
    axes = figures["stacks/staleness"].draw(part).figure.axes
    assert [axis.get_title().partition("\n")[2] for axis in axes[:2]] == ["2 to 4 seeds", "4 seeds"]
    axes = figures["stacks/staleness-curves"].draw(part).figure.axes
    said = [axis.get_title().rpartition(", ")[2] for axis in axes]
    assert said == ["4 seeds", "2 seeds", "4 seeds", "4 seeds"]
