"""Claims and figures of runs that a user changed, and values that must be those that decided.

Most of it is of runs changed by `--method` or `--set`: there one method may stand for several
configs that a sweep tells apart, or a claim about a range may be left with a single value.
"""

import polars as pl
import pytest
from matplotlib import pyplot as plt

from delightful.lab.cells import Plan
from delightful.lab.verdicts import NotMeasuredError
from delightful.paper.mnist import EXPERIMENT

CLAIMS = {claim.id.removeprefix("mnist/"): claim for claim in EXPERIMENT.claims}
FIGURES = {figure.id.removeprefix("mnist/"): figure for figure in EXPERIMENT.figures}
BOTH = Plan("paper", methods=("pg", "dg"))


def error(config):
    return {"pg": 0.2, "dg": 0.15, "ce": 0.1}.get(config.method, 0.18)


# Several configs under one method


def test_faster_leaves_exact_runs_out(decided):
    # `ce` of the sweep is of exact expectations; under --method it becomes an exact PG and DG.
    def exact_dg_is_bad(config):
        return 0.9 if (config.samples, config.method) == (0, "dg") else error(config)

    assert decided(CLAIMS["faster"], exact_dg_is_bad, BOTH).value() == pytest.approx(0.05)


def test_dg_with_an_entropy_bonus_is_not_taken_for_dg(decided):
    # The sweep's bonuses are PG's; under --method DG is run with every one of them too.
    def bonus_harms_dg(config):
        return 0.9 if config.method == "dg" and config.entropy > 0 else error(config)

    plan = Plan("paper", methods=("pg", "dg", "dg:temperature=0.2", "dg:temperature=5"))
    found = decided(CLAIMS["wide-temperature"], bonus_harms_dg, plan)
    assert found.value("η = 1, coefficient = 0.001") == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("name", "plan"),
    [
        *[(name, BOTH) for name in ("error", "gate", "entropy")],
        *[(name, Plan("paper", methods=("awr",))) for name in ("error", "gate")],
        ("depth", Plan("paper", methods=("pg", "dg", "ce"))),
        ("depth", Plan("paper", changes={"samples": "10"})),
        ("validation", Plan("paper", methods=("dg", "dg:whiten=scale"))),
    ],
)
def test_a_mean_is_over_the_seeds_of_one_config(runs, name, plan):
    drawing = FIGURES[name].draw(runs(FIGURES[name].sweep, error, plan))
    plt.close(drawing.figure)
    assert set(drawing.numbers["seeds"]) == {8}


# A single value where there should be a range


@pytest.mark.parametrize(
    ("name", "plan"),
    [
        ("temperature", BOTH),
        ("wide-temperature", BOTH),
        ("sweet-spot", Plan("paper", changes={"width": "64"})),
        *[
            (name, Plan("paper", changes={"samples": "0"}))
            for name in ("pg-reaches-floor", "dg-below-floor", "gain-persists")
        ],
    ],
)
def test_what_is_not_varied_has_no_best_value(decided, name, plan):
    with pytest.raises(NotMeasuredError):
        decided(CLAIMS[name], error, plan)


# A value that is not the one that decided


def test_the_baseline_farthest_from_the_floor_is_shown(decided):
    def beyond(config):  # with b = 0, PG ends half as far below the floor as it began above
        last = -0.04 if config.baseline == "zero" else 0.002
        above = {0: 0.0, 1: 0.08, 3: 0.06, 10: 0.04, 30: 0.02, 100: last}
        return 0.1 + above[config.samples]

    found = decided(CLAIMS["pg-reaches-floor"], beyond)
    assert (found.verdict, found.first.case) == ("not reproduced", "baseline zero")
    assert found.first.estimate.value == pytest.approx(-0.5)


def test_the_baseline_shown_is_one_where_the_claim_is_open(runs, on_table):
    # PG − DG is 0.05 at three baselines, clearly; at the oracle's it is 0.06, but may be none.
    claim = CLAIMS["gain-persists"]
    uncertain = (pl.col("baseline") == "oracle") & (pl.col("method") == "pg")
    changed = pl.col("train_error") + 0.01 + 0.08 * (pl.col("seed") - 3.5)
    table = runs(claim.sweep, error).with_columns(
        train_error=pl.when(uncertain).then(changed).otherwise("train_error")
    )
    found = on_table(claim, table)
    assert (found.verdict, found.first.case) == ("inconclusive", "baseline oracle")
    assert found.first.estimate.low <= 0


def test_one_seed_decides_nothing(decided):
    def by_width(config):
        return 0.2 if config.method == "pg" else 0.25 if config.width == 64 else 0.1

    found = decided(CLAIMS["widths"], by_width, seeds=1)
    assert found.verdict == "inconclusive"
    assert found.value("W = 64") == pytest.approx(-0.05)


# A verdict that does not follow


def test_half_a_gap_of_the_wrong_sign_is_no_half(decided):
    worse = {"pg": 0.1, "dg": 0.15, "ce": 0.2}  # DG is worse than PG, and CE the worst
    found = decided(CLAIMS["half-the-gap"], lambda c: worse[c.method])
    assert found.verdict == "not reproduced"
    assert found.value("DG closes") == pytest.approx(0.5)


def test_temperatures_with_a_hole_between_them_are_no_wide_range(decided):
    def only_the_ends(config):
        ends = {"dg:temperature=0.1": 0.1, "dg:temperature=10.0": 0.1, "pg": 0.2}
        return ends.get(config.method, 0.3)

    assert decided(CLAIMS["wide-temperature"], only_the_ends).verdict == "not reproduced"


def test_all_of_the_gap_is_not_half_of_it(decided):
    closes_all = {"pg": 0.2, "dg": 0.1, "ce": 0.1}
    verdicts = {
        decided(CLAIMS["half-the-gap"], lambda c: closes_all[c.method], reading=r).verdict
        for r in (0, 1)
    }
    assert verdicts == {"not reproduced"}


def layers(two, one=0.2):
    """PG ends at 0.2 and CE at 0.1; DG with two hidden layers at `two`, with one at `one`."""
    ends = {"pg": 0.2, "ce": 0.1}
    return lambda c: ends.get(c.method, one if c.layers == 1 else two)


def test_the_depth_of_the_network_is_read_in_both_ways(decided):
    claim = CLAIMS["half-the-gap"]
    verdicts = [decided(claim, layers(0.15, 0.2), reading=r).verdict for r in (0, 1)]
    assert verdicts == ["reproduced", "not reproduced"]
    assert [str(reading) for reading in claim.readings] == [
        "two hidden layers",
        "one hidden layer",
    ]


def test_half_of_a_gap_needs_supervised_runs(decided):
    with pytest.raises(NotMeasuredError, match="method=ce"):
        decided(CLAIMS["half-the-gap"], layers(0.15), Plan(methods=("pg", "dg")))
