"""The comparison of plain and delightful frameworks, without the frameworks."""

import numpy as np
import polars as pl
import pytest
import scipy.stats

from delightful.lab.cells import Plan
from delightful.paper.stacks.config import StackConfig
from delightful.paper.stacks.figures import FIGURES, arm, compare
from delightful.paper.stacks.sweep import SWEEPS
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
    ],
)
def test_what_makes_no_sense_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        StackConfig(**changes).check()


def test_every_sweep_has_five_seeds_of_three_arms():
    for sweep in SWEEPS:
        cells = sweep.cells(Plan("quick"))
        tasks = {(c.config.algorithm, c.config.task) for c in cells}
        assert len(cells) == 5 * 3 * len(tasks)
        assert {arm(c.config.method) for c in cells} == {
            "plain",
            "delightful",
            "delightful, whiten=scale",
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
