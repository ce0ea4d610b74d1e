"""The claims of Section 5 on runs whose outcome is known: each verdict occurs, with its value.

Runs have four records. PPO, with four passes over each batch, has made all of DG's gradient steps
at its first one: that decides what is compared per gradient step, and its last or the mean of all
what is compared per episode.
"""

import numpy as np
import pytest

from delightful.lab.cells import Plan
from delightful.lab.experiment import VERDICTS, NotMeasuredError
from delightful.lab.tables import varying
from delightful.paper.tokens import EXPERIMENT
from delightful.paper.tokens.claims.main_text import claims
from delightful.paper.tokens.runs import (
    at_equal_updates,
    by_seed,
    ends,
    rivals,
    scaled,
    with_regret,
)
from delightful.paper.tokens.sweep import CURVES, RATE, RATES, SCALING, SETTINGS

CLAIMS = {claim.id.removeprefix("tokens/"): claim for claim in claims}
REPRODUCED, PARTLY, NOT = VERDICTS[:3]
SIZES = {"length": (5, 10, 20, 40), "vocabulary": (2, 4, 8, 16, 32, 64)}


def by_method(pg=0.3, ppo=0.3, pmpo=0.3, dg=0.2):
    errors = {"pg": pg, "ppo": ppo, "pmpo": pmpo, "dg": dg}
    return lambda config: errors[config.method]


def last(**errors):
    """Errors at the end, after others that would decide otherwise; or all four."""
    return by_method(
        **{
            name: error if isinstance(error, tuple) else (0.5, 0.5, 0.9 - error, error)
            for name, error in errors.items()
        }
    )


def rising(field, **rises):
    """From 0.1 at the smallest size by as much as is given, or by 0.3, to the largest."""
    small, *_, large = SIZES[field]

    def error(config):
        share = (getattr(config, field) - small) / (large - small)
        return 0.1 + share * np.asarray(rises.get(config.method, 0.3))

    return error


def laws(wiggly=(), by=0.0, **exponents):
    """Power laws in both sizes, of exponent 0.4 unless given; errors of the `wiggly` methods are
    multiplied by 1 ± `by`, in turn."""

    def error(config):
        turns = SIZES["length"].index(config.length) + SIZES["vocabulary"].index(config.vocabulary)
        wiggle = 1 + by * (-1) ** turns if config.method in wiggly else 1
        power = np.asarray(exponents.get(config.method, 0.4))
        return 0.01 * (config.length * config.vocabulary) ** power * wiggle

    return error


def fit(field, wiggle, power=0.4):
    """1 − unexplained/total of the line through the log errors of `laws`."""
    at = np.log(SIZES[field])
    first = 0 if field == "length" else 1  # H = 10, at which M is varied, is the second length
    logs = power * at + np.log([1 + wiggle * (-1) ** (first + i) for i in range(len(at))])
    line = np.polyval(np.polyfit(at, logs, 1), at)
    return 1 - np.sum((logs - line) ** 2) / np.sum((logs - logs.mean()) ** 2)


def fields(name, cases):
    """The same cases for the length and for the vocabulary."""
    return [
        (f"{name}-{field}", case(field), verdict, value)
        for field in SIZES
        for case, verdict, value in cases
    ]


# Of each claim that compares methods: both ways; per gradient step only; per episode only; neither.
CASES = [
    ("faster", by_method(pg=0.25, dg=0.2), REPRODUCED, 0.05),
    ("faster", by_method(ppo=(0.28, 0.4, 0.4, 0.4), dg=0.2), REPRODUCED, 0.08),
    ("faster", by_method(ppo=(0.4, 0.04, 0.02, 0.02), dg=0.2), PARTLY, 0.1),
    ("faster", by_method(ppo=(0.1, 0.5, 0.5, 0.5), dg=0.2), PARTLY, -0.1),
    ("faster", by_method(pmpo=0.15, dg=0.2), NOT, -0.05),
    ("faster", by_method(pmpo=0.2001, dg=0.2), NOT, 1e-4),  # which is not clearly more
    ("faster", by_method(pg=0.19, ppo=(0.4, 0.0, 0.0, 0.0), dg=0.2), NOT, -0.01),
    ("lower-error", last(pg=0.2, ppo=0.25, pmpo=0.3, dg=0.1), REPRODUCED, 0.1),
    ("lower-error", last(pg=0.3, ppo=(0.12, 0, 0, 0.3), pmpo=0.3, dg=0.1), REPRODUCED, 0.02),
    ("lower-error", last(pg=0.3, ppo=0.05, pmpo=0.25, dg=0.1), PARTLY, 0.15),
    ("lower-error", last(pg=0.3, ppo=0.1001, pmpo=0.25, dg=0.1), PARTLY, 0.15),
    ("lower-error", last(pg=0.3, ppo=(0.05, 1, 1, 0.3), pmpo=0.25, dg=0.1), PARTLY, -0.05),
    ("lower-error", last(pg=0.3, ppo=(0.1001, 1, 1, 0.3), pmpo=0.3, dg=0.1), PARTLY, 1e-4),
    ("lower-error", last(pg=0.1001, ppo=0.3, pmpo=0.3, dg=0.1), NOT, 1e-4),
    ("lower-error", last(pg=0.3, ppo=0.05, pmpo=0.05, dg=0.1), NOT, -0.05),
    *fields(
        "graceful",
        [
            (lambda f: rising(f, dg=0.1, pg=0.2), REPRODUCED, 0.1),
            (lambda f: rising(f, dg=-0.05, ppo=(0.0, 0, 0, 0.4)), REPRODUCED, 0.05),
            (lambda f: rising(f, dg=0.1, pg=0.2, ppo=(0.3, 0, 0, 0.05)), PARTLY, 0.1),
            (lambda f: rising(f, dg=0.1, ppo=(0.05, 0, 0, 0.3)), PARTLY, -0.05),
            (lambda f: rising(f, dg=0.1, pg=0.1001), NOT, 1e-4),
            (lambda f: rising(f, dg=0.5), NOT, -0.2),
        ],
    ),
    *fields(
        "exponent",
        [
            (lambda _: laws(dg=0.1, pmpo=0.2), REPRODUCED, 0.1),
            (lambda _: laws(dg=-0.1, ppo=(-0.05, 0.4, 0.4, 0.4)), REPRODUCED, 0.05),
            (lambda _: laws(dg=0.3, ppo=(0.35, 0.2, 0.2, 0.2)), PARTLY, 0.05),
            (lambda _: laws(dg=0.3, ppo=(0.25, 0.4, 0.4, 0.4)), PARTLY, -0.05),
            # The smallest exponent but not clearly, per gradient step; then per episode alone.
            (lambda _: laws(dg=0.1, pmpo=0.1001), PARTLY, 1e-4),
            (lambda _: laws(dg=0.3, ppo=(0.2995, 0.3002, 0.3002, 0.3002)), NOT, -5e-4),
            (lambda _: laws(dg=0.1, pmpo=0.0999), NOT, -1e-4),
            (lambda _: laws(dg=0.5, pmpo=0.6), NOT, -0.1),
        ],
    ),
    ("power-law", laws(), REPRODUCED, 1.0),
    ("power-law", laws(dg=-0.2), REPRODUCED, 1.0),
    # With so large a wiggle R² is on either side of 0.9; then for half of the methods, and more.
    ("power-law", laws(("pg", "ppo", "pmpo", "dg"), 0.09), REPRODUCED, fit("length", 0.09)),
    ("power-law", laws(("dg",), 0.12), PARTLY, fit("length", 0.12)),
    ("power-law", laws(("pg", "dg"), 0.5), PARTLY, fit("length", 0.5)),
    ("power-law", laws(("pg", "ppo", "dg"), 0.5), NOT, fit("length", 0.5)),
]


@pytest.mark.parametrize(("name", "measured", "verdict", "value"), CASES)
def test_a_verdict_and_its_value_follow_from_the_runs(runs, name, measured, verdict, value):
    finding = CLAIMS[name].check(runs(CLAIMS[name].sweep, measured))
    assert finding.verdict == verdict, finding
    assert finding.value == pytest.approx(value, abs=3e-7)
    assert finding.low is None or finding.low < finding.value < finding.high


def test_every_verdict_of_every_claim_is_among_them():
    seen = {(name, verdict) for name, _, verdict, _ in CASES}
    assert seen == {(name, verdict) for name in CLAIMS for verdict in (REPRODUCED, PARTLY, NOT)}


def test_the_wiggles_lie_on_either_side_of_an_approximate_power_law():
    assert fit("length", 0.09) > 0.9 > fit("length", 0.12)
    assert all(fit("length", by) < fit("vocabulary", by) for by in (0.09, 0.12, 0.5))


def test_there_are_22_claims_each_with_an_id_of_its_own():
    assert len({claim.id for claim in EXPERIMENT.claims}) == len(EXPERIMENT.claims) == 22


# What a finding says besides


def noted(runs, name, measured, *plan_and_seeds):
    return CLAIMS[name].check(runs(CLAIMS[name].sweep, measured, *plan_and_seeds))


def test_faster_compares_ppo_at_as_many_gradient_steps_and_episodes(runs):
    measured = by_method(pg=0.26, ppo=(0.24, 0.4, 0.4, 0.4), pmpo=0.28, dg=(0.5, 0.1, 0.1, 0.1))
    finding = noted(runs, "faster", measured)
    assert finding.measures == "average error, baseline − DG, PPO, after 1000 gradient steps"
    assert finding.note.startswith("per gradient step: ")
    by_update, by_episode = finding.note.split("; per episode: ")
    for part in ("PG: 0.0600 [", "PPO: 0.0400 [", "PMPO: 0.0800 ["):
        assert part in by_update
    for part in ("PG: 0.0600 [", "PPO: 0.160 [", "PMPO: 0.0800 ["):
        assert part in by_episode


def test_the_final_error_of_every_method_is_in_the_note(runs):
    finding = noted(runs, "lower-error", last(pg=0.3, ppo=0.25, pmpo=0.35, dg=0.1))
    assert finding.measures == "error, baseline − DG, PG, after 1000 gradient steps"
    errors = "PG 0.3 (0.3); PPO 0.25 (0.25); PMPO 0.35 (0.35); DG 0.1 (0.1)"
    assert finding.note.endswith(f"; mean (median) after 1000 batches: {errors}")
    by_update, by_episode = finding.note.split("; per episode: ")
    assert "PPO: 0.400 [" in by_update
    assert "PPO: 0.150 [" in by_episode


@pytest.mark.parametrize(
    ("field", "sizes", "dg"),
    [
        ("length", "H = 5, 10, 20, 40", "0.100 → 0.114 → 0.143"),
        ("vocabulary", "M = 2, 4, 8, 16, 32, 64", "0.100 → 0.103 → 0.110"),
    ],
)
def test_a_rise_gives_the_error_at_each_size(runs, field, sizes, dg):
    finding = noted(runs, f"graceful-{field}", rising(field, dg=0.1, pg=0.2))
    assert finding.measures == "rise of the error, baseline − DG, PG, after 10000 gradient steps"
    assert f"; final error at {sizes}: PG 0.100 → " in finding.note
    assert f"; DG {dg}" in finding.note


@pytest.mark.parametrize(("field", "symbol"), [("length", "H"), ("vocabulary", "M")])
def test_the_exponent_of_every_method_is_in_the_note(runs, field, symbol):
    finding = noted(runs, f"exponent-{field}", laws(pg=0.3, ppo=0.25, pmpo=0.5, dg=0.1))
    named = f"exponent in {symbol}, baseline − DG, PPO, after 10000 gradient steps"
    assert finding.measures == named
    exponents = finding.note.partition("; exponents per episode: ")[2]
    for part in ("PG: 0.300 [", "PPO: 0.250 [", "PMPO: 0.500 [", "DG: 0.100 ["):
        assert part in exponents
    sizes = ", ".join(map(str, SIZES[field]))
    assert f"; average error at {symbol} = {sizes}: PG " in exponents


def test_the_fit_of_every_method_and_size_is_in_the_note(runs):
    finding = noted(runs, "power-law", laws(("dg",), 0.3))
    assert finding.measures == "smallest R² (DG in H)"
    assert finding.note.count("1.000") == 6
    for field, symbol in (("length", "H"), ("vocabulary", "M")):
        assert f"DG in {symbol} {fit(field, 0.3):.3f}" in finding.note


# What a run comes to


def test_regret_is_the_running_mean_of_the_error(runs):
    table = with_regret(runs(CURVES, by_method(ppo=(0.4, 0.2, 0.3, 0.1)), None, 1))
    ppo = table.filter(method="ppo").sort("step")
    assert ppo["regret"].to_list() == pytest.approx([0.4, 0.3, 0.3, 0.25])
    assert ppo["updates"].to_list() == [1000, 2000, 3000, 4000]
    assert table.filter(method="dg").sort("step")["updates"].to_list() == [250, 500, 750, 1000]


def test_the_regret_of_a_run_does_not_depend_on_the_order_of_rows(runs):
    table = runs(SCALING, laws(dg=0.2))
    columns = ("method", "length", "vocabulary", "seed")
    first, again = (ends(t).sort(*columns) for t in (table, table.sample(fraction=1, shuffle=True)))
    assert first["regret"].to_numpy() == pytest.approx(again["regret"].to_numpy(), rel=1e-12)


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_one_size_is_varied_while_the_other_is_the_usual_one(runs, scale):
    table = ends(runs(SCALING, lambda _: 0.2, Plan(scale), 2))
    for field, other in (("length", "vocabulary"), ("vocabulary", "length")):
        rows = varying(table, field)
        assert set(rows[field]) == set(table.filter(**{other: rows[other][0]})[field])
        assert rows[field].n_unique() > 1
        assert set(rows[other]) == {2 if field == "length" else 3 if scale == "smoke" else 10}


def test_what_dg_is_compared_with_is_at_its_default_options(runs):
    plan = Plan("paper", methods=("dg", "dg:temperature=2", "pg", "ppo:clip=0.4"))
    assert rivals(runs(CURVES, lambda _: 0.2, plan)) == ["pg", "dg"]


@pytest.mark.parametrize("methods", [("dg",), ("pg", "ppo"), ("awr",), ("dg:temperature=2", "pg")])
def test_without_dg_or_a_rival_nothing_is_compared(runs, methods):
    with pytest.raises(NotMeasuredError, match="compares dg with other methods"):
        rivals(runs(CURVES, lambda _: 0.2, Plan("paper", methods=methods)))


def test_of_every_method_one_config_is_taken(runs):
    # Under --method a rival keeps its settings, any other method takes those of DG.
    table = runs(CURVES, lambda _: 0.2, Plan("paper", methods=(*SETTINGS, "awr")))
    settings = ("method", "learning_rate", "epochs")
    own = {(m, *fields.values()) for m, fields in SETTINGS.items()} | {
        ("awr", *SETTINGS["dg"].values())
    }
    assert set(table.select(settings).unique().rows()) == own


def test_what_is_varied_on_purpose_is_kept(runs):
    kept = runs(RATE, lambda _: 0.2, Plan("paper", methods=("dg", "ppo")))
    assert set(kept["learning_rate"]) == set(RATES)
    assert set(kept.filter(method="dg")["epochs"]) == {1}
    assert set(kept.filter(method="ppo")["epochs"]) == {4}


@pytest.mark.parametrize(("records", "updates"), [(4, 1000), (10, 800), (50, 960)])
def test_methods_are_compared_where_each_has_a_record(runs, records, updates):
    rows = at_equal_updates(runs(CURVES, lambda _: 0.2, None, 2, records=records))
    assert set(rows["updates"]) == {updates}
    steps = {spec: updates // SETTINGS[spec]["epochs"] for spec in SETTINGS}
    assert dict(rows.select("method", "step").unique().rows()) == steps
    assert len(rows) == 2 * len(SETTINGS)


def test_passes_and_minibatches_are_both_gradient_steps(runs):
    plan = Plan("paper", changes={"minibatches": "2"})
    rows = at_equal_updates(runs(CURVES, by_method(ppo=(0.4, 0.2, 0.3, 0.1)), plan, 1))
    assert set(rows["updates"]) == {2000}
    assert rows.filter(method="ppo").select("step", "regret").row(0) == (250, pytest.approx(0.4))


def test_numbers_are_of_one_config_or_refused(runs):
    rows = ends(runs(SCALING, laws(dg=0.2)))
    found = by_seed(rows, "regret", method="dg", length=20)
    assert found.shape == (8,)
    assert found.mean() == pytest.approx(0.01 * 40**0.2)
    with pytest.raises(NotMeasuredError, match="one config with method=dg, and there are several"):
        by_seed(rows, "regret", method="dg")
    at = scaled(rows, "vocabulary", "regret", ["dg"])["dg"]
    assert [x.mean() for x in at.values()] == pytest.approx([0.01 * (10 * m) ** 0.2 for m in at])
    assert tuple(at) == SIZES["vocabulary"]
