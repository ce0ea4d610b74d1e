"""The claims of Appendix D on runs whose outcome is known: each verdict occurs, with its value."""

import math

import pytest

from delightful.lab.cells import Plan
from delightful.lab.experiment import VERDICTS
from delightful.paper.tokens.claims import robustness
from delightful.paper.tokens.claims import tuning as grids
from delightful.paper.tokens.sweep import RATES
from delightful.weights import parse_method

CLAIMS = {claim.id.removeprefix("tokens/"): claim for claim in grids.claims + robustness.claims}
WITHOUT_PARTLY = {"ppo-kl", "pmpo-boundary", "additive-beats-pg", "additive-below-dg"}
REPRODUCED, PARTLY, NOT = VERDICTS[:3]


def parsed(config):
    """The method's name and in turn its options that have a value."""
    found, options = parse_method(config.method)
    return found.name, *(value for value in options.values() if value is not None)


def falling(regret):
    """Errors whose mean is the regret: the last one would decide otherwise."""
    if isinstance(regret, tuple):
        return regret
    return (2.5 * regret, regret, 0.4 * regret, 0.1 * regret)


def dg(regret):
    """DG's regret, beside others without a part in the claim."""
    return lambda c: falling(regret) if c.method == "dg" else 0.5


def tuned(*, ppo=0.03, pmpo=0.08, dg=0.005):
    """The best of either grid; PPO with ε = 0.4 and β = 0.03, PMPO with α = 0 and one pass."""

    def error(c):
        name, *options = parsed(c)
        if name == "ppo":
            return falling(ppo if (*options, c.kl) == (0.4, 0.03) else 0.5)
        if name == "pmpo":
            return falling(pmpo if (*options, c.epochs) == (0.0, 1) else 0.5)
        return {"dg": dg, "pg": 0.001}[name]

    return error


def clips(worst):
    """PPO's regrets without KL penalty rise with ε by the factor `worst`; with one, a lot."""

    def error(c):
        name, *options = parsed(c)
        if name != "ppo":
            return 0.001
        return 0.9 if c.kl else 0.1 * (1 + (worst - 1) * (options[0] - 0.05) / 0.75)

    return error


def penalties(gain):
    """With every ε, β = 0.3 is the best penalty, and by `gain` better than none."""
    regrets = {0.0: 0.2, 0.3: 0.2 - gain}

    def error(c):
        name, *options = parsed(c)
        return regrets.get(c.kl, 0.4) + 0.1 * options[0] if name == "ppo" else 0.001

    return error


def preferences(at=0.0, edge=0.2, inner=0.3):
    """PMPO's best α at the boundary, and its best between, each with a penalty of its own."""
    best = {("pmpo", at, 0.1): edge, ("pmpo", 0.25, 1.0): inner}
    return lambda c: best.get((*parsed(c), c.kl), 0.5)


def rates(*gaps, best=(), ppo=None):
    """PMPO − DG at each rate, and PG above; DG's regret is 0.2, or as `best` says by its rate.

    ppo: its errors at every rate; if there are none it is no rival.
    """

    def error(c):
        regret = dict(best).get(c.learning_rate, 0.2)
        above = gaps[RATES.index(c.learning_rate)]
        if c.method == "ppo" and ppo:
            return ppo
        return falling(regret + {"dg": 0, "pmpo": above}.get(c.method, above + 0.1))

    return error


def end(**errors):
    """Errors at the end, after others that would decide otherwise; or all four."""

    def error(c):
        given = errors[c.method]
        return given if isinstance(given, tuple) else (0.5, 0.5, 0.9 - given, given)

    return error


TASKS = ("copy", "flip", "reverse-copy", "reverse-flip")


def variants(bag=(0.1, 0.1, 0.1, 0.1), sequential=(0.2, 0.2, 0.2, 0.2), ppo=None):
    """PMPO − DG by reward for each task, and PG above; DG's regret is 0.3.

    ppo: its errors by reward; if there are none it is no rival.
    """

    def error(c):
        gap = {"bag": bag, "sequential": sequential}[c.reward][TASKS.index(c.task)]
        if c.method == "ppo" and ppo and c.reward in ppo:
            return ppo[c.reward]
        return falling(0.3 + {"dg": 0, "pmpo": gap}.get(c.method, gap + 0.05))

    return error


def mixtures(best, *, dg=0.04, pg=0.3, others=0.5):
    """The best mixture is that of α = 0.75 and η = 2; other mixtures end lower but learn slower."""

    def error(c):
        name, *options = parsed(c)
        if name == "additive":
            return falling(best) if options == [0.75, 2.0] else (others, others, others, 0.0)
        return falling({"dg": dg, "pg": pg}.get(name, 0.001))

    return error


def around(name, low, high, measured):
    """Both sides of both thresholds of "≈": between low and high, and half to twice that."""
    sides = [(low / 2, NOT, PARTLY), (low, PARTLY, REPRODUCED)]
    sides += [(high, REPRODUCED, PARTLY), (2 * high, PARTLY, NOT)]
    return [
        (name, measured(at * by), verdict, at * by)
        for at, below, above in sides
        for by, verdict in ((0.99, below), (1.01, above))
    ]


CASES = [
    ("tuned-dg", dg(0.0099), REPRODUCED, 0.0099),
    ("tuned-dg", dg(0.0101), PARTLY, 0.0101),
    ("tuned-dg", dg(0.0299), PARTLY, 0.0299),
    ("tuned-dg", dg(0.0301), NOT, 0.0301),
    *around("tuned-ppo", 0.02, 0.045, lambda x: tuned(ppo=x)),
    *around("tuned-pmpo", 0.055, 0.12, lambda x: tuned(pmpo=x)),
    *around("best-additive", 0.07, 0.14, mixtures),
    *around("dg-beside-additive", 0.03, 0.055, lambda x: mixtures(0.1, dg=x)),
    # PPO has made DG's gradient steps at a quarter of its episodes, where its error is 2.5 times
    # its regret: behind DG both ways; then per gradient step only; then per episode only, its best
    # setting there being another.
    ("tuning-does-not-help", tuned(), REPRODUCED, 0.07),
    ("tuning-does-not-help", tuned(ppo=0.2, pmpo=0.1), REPRODUCED, 0.095),
    ("tuning-does-not-help", tuned(ppo=0.005), PARTLY, 0.0075),
    ("tuning-does-not-help", tuned(ppo=(0.003, 1.0, 1.0, 1.0)), PARTLY, -0.002),
    ("tuning-does-not-help", tuned(pmpo=0.005), NOT, 0.0),
    ("tuning-does-not-help", tuned(pmpo=0.004), NOT, -0.001),
    ("tuning-does-not-help", tuned(dg=0.1), NOT, -0.025),
    ("ppo-clip", clips(1.02), REPRODUCED, 1.02),
    ("ppo-clip", clips(1.24), REPRODUCED, 1.24),
    ("ppo-clip", clips(1.26), PARTLY, 1.26),
    ("ppo-clip", clips(1.49), PARTLY, 1.49),
    ("ppo-clip", clips(1.51), NOT, 1.51),
    ("ppo-kl", penalties(-0.05), REPRODUCED, 0.05),
    ("ppo-kl", penalties(1e-4), REPRODUCED, -1e-4),  # which is not clearly less
    ("ppo-kl", penalties(0.01), NOT, -0.01),
    ("pmpo-boundary", preferences(), REPRODUCED, 0.1),
    ("pmpo-boundary", preferences(at=1.0), REPRODUCED, 0.1),
    ("pmpo-boundary", preferences(inner=0.2), NOT, 0.0),
    ("pmpo-boundary", preferences(inner=0.1), NOT, -0.1),
    ("learning-rates", rates(0.3, 0.1, 0.05, 0.2), REPRODUCED, 0.05),
    ("learning-rates", rates(*[0.1] * 4, ppo=(0.25, 1, 1, 1)), REPRODUCED, 0.05),
    # Per gradient step only; per episode only.
    ("learning-rates", rates(*[0.1] * 4, ppo=(0.5, 0.05, 0.05, 0.05)), PARTLY, 0.1),
    ("learning-rates", rates(*[0.1] * 4, ppo=(0.15, 1, 1, 1)), PARTLY, -0.05),
    # DG is clearly first at half of the rates; then not per episode; then only per episode.
    ("learning-rates", rates(0.1, -0.05, 0.1, -0.02), PARTLY, -0.05),
    ("learning-rates", rates(0.1, 0.1, -0.05, -0.05, ppo=(0.5, 0, 0, 0)), PARTLY, -0.05),
    ("learning-rates", rates(0.1, 0.1, -0.05, -0.04, ppo=(0.15, 1, 1, 1)), NOT, -0.05),
    ("learning-rates", rates(0.1, 1e-4, -0.01, -0.1), NOT, -0.1),
    ("learning-rates", rates(-0.1, -0.1, -0.1, -0.05), NOT, -0.1),
    ("extended", end(pg=0.2, ppo=0.3, pmpo=0.15, dg=0.1), REPRODUCED, 0.05),
    ("extended", end(pg=0.2, ppo=(0.12, 0, 0, 0.3), pmpo=0.3, dg=0.1), REPRODUCED, 0.02),
    ("extended", end(pg=0.2, ppo=0.05, pmpo=0.3, dg=0.1), PARTLY, 0.1),
    ("extended", end(pg=0.2, ppo=(0.05, 1, 1, 0.3), pmpo=0.3, dg=0.1), PARTLY, -0.05),
    ("extended", end(pg=0.2, ppo=0.05, pmpo=0.08, dg=0.1), NOT, -0.02),
    ("extended", end(pg=0.1001, ppo=0.3, pmpo=0.3, dg=0.1), NOT, 1e-4),
    ("every-variant", variants(), REPRODUCED, 0.1),
    ("every-variant", variants(sequential=(0.2, 0.2, 0.02, 0.2)), REPRODUCED, 0.02),
    ("every-variant", variants(ppo={"bag": (0.5, 0.1, 0.1, 0.1)}), PARTLY, 0.1),
    (
        "every-variant",
        variants(ppo=dict.fromkeys(("bag", "sequential"), (0.25, 1, 1, 1))),
        PARTLY,
        -0.05,
    ),
    # DG is clearly first in seven; in half; in less; in half, but only per episode.
    ("every-variant", variants(bag=(0.1, 0.0, 0.1, 0.1)), PARTLY, 0.0),
    ("every-variant", variants(bag=(-0.1, -0.1, -0.1, -0.12)), PARTLY, -0.12),
    ("every-variant", variants(bag=[-0.1] * 4, sequential=(0.2, 0.2, 0.2, -0.2)), NOT, -0.2),
    (
        "every-variant",
        variants(bag=[-0.1] * 4, ppo={"sequential": (0.25, 1, 1, 1)}),
        NOT,
        -0.1,
    ),
    ("additive-beats-pg", mixtures(0.2), REPRODUCED, 0.1),
    ("additive-beats-pg", mixtures(0.3), NOT, 0.0),
    ("additive-beats-pg", mixtures(0.35), NOT, -0.05),
    ("additive-below-dg", mixtures(0.1), REPRODUCED, 0.06),
    ("additive-below-dg", mixtures(0.04), NOT, 0.0),
    ("additive-below-dg", mixtures(0.03), NOT, -0.01),
    ("sequential-gap", variants(), REPRODUCED, 1.0),
    ("sequential-gap", variants(sequential=(0.2, 0.0, 0.2, 0.11)), REPRODUCED, 0.75),
    ("sequential-gap", variants(sequential=(0.2, 0.0, 0.2, 0.09)), PARTLY, 0.5),
    ("sequential-gap", variants(sequential=(0.2, 0.0, -0.1, 0.0)), NOT, 0.25),
    ("sequential-gap", variants(ppo={"sequential": (0.25, 1, 1, 1)}), NOT, 0.0),
]


@pytest.mark.parametrize(("name", "measured", "verdict", "value"), CASES)
def test_a_verdict_and_its_value_follow_from_the_runs(runs, name, measured, verdict, value):
    finding = CLAIMS[name].check(runs(CLAIMS[name].sweep, measured))
    assert finding.verdict == verdict, finding
    assert finding.value == pytest.approx(value, abs=3e-7)
    if name == "sequential-gap":  # a share of tasks, which has no seeds
        assert finding.low is None
    else:
        assert finding.low < finding.value < finding.high


def test_every_verdict_of_every_claim_is_among_them():
    seen = {(name, verdict) for name, _, verdict, _ in CASES}
    assert seen == {
        (name, verdict)
        for name in CLAIMS
        for verdict in (REPRODUCED, PARTLY, NOT)
        if verdict != PARTLY or name not in WITHOUT_PARTLY
    }


# What a finding says besides


@pytest.mark.parametrize(
    ("name", "measured", "measures"),
    [
        ("tuning-does-not-help", tuned(), "best setting − DG, PPO, after 1000 gradient steps"),
        ("tuning-does-not-help", tuned(ppo=0.2, pmpo=0.1), "best setting − DG, PMPO, after"),
        ("learning-rates", rates(0.3, 0.1, 0.05, 0.2), "best baseline − DG, rate 0.001, after"),
        ("ppo-kl", penalties(0.01), "regret at β = 0.3 − without"),
        ("extended", end(pg=0.2, ppo=0.3, pmpo=0.4, dg=0.1), "DG, PG, after 10000 gradient steps"),
        ("every-variant", variants(sequential=(0.2, 0.2, 0.02, 0.2)), "reverse-copy, sequential"),
    ],
)
def test_the_case_that_was_decisive_is_named(runs, name, measured, measures):
    assert measures in CLAIMS[name].check(runs(CLAIMS[name].sweep, measured)).measures


@pytest.mark.parametrize(
    ("name", "measured", "parts"),
    [
        ("tuned-ppo", tuned(), ["at ε = 0.4, β = 0.03, passes = 4"]),
        ("tuned-pmpo", tuned(), ["at α = 0, β = 0, passes = 1"]),
        (
            "tuning-does-not-help",
            tuned(),
            [
                "per gradient step: PPO: 0.0700 [",
                "PMPO: 0.0750 [",
                "per episode: PPO: 0.0250 [",
                "best per episode: PPO at ε = 0.4, β = 0.03, passes = 4; ",
                "PMPO at α = 0, β = 0, passes = 1",
            ],
        ),
        ("ppo-clip", clips(1.3), ["ε = 0.05: 0.1000; ", "ε = 0.2: 0.1060; ", "ε = 0.8: 0.1300"]),
        ("ppo-kl", penalties(0.01), ["β = 0: 0.2310; β = 0.01: 0.4310; ", "β = 0.3: 0.2210; "]),
        (
            "pmpo-boundary",
            preferences(),
            ["best by α: 0: 0.2000; 0.25: 0.3000; 0.5: 0.5000; 0.75: 0.5000; 1: 0.5000"],
        ),
        (
            "learning-rates",
            rates(0.3, 0.1, 0.05, 0.2, best={1e-3: 0.1}.items()),
            [
                "per gradient step: rate 0.0001: 0.300 [",
                "rate 0.003: 0.200 [",
                "per episode: rate 0.0001: 0.300 [",
                "best rates per episode: PG 0.2500 at 0.001; ",
                "DG 0.1000 at",
            ],
        ),
        ("extended", end(pg=0.2, ppo=0.3, pmpo=0.4, dg=0.1), ["PG 0.2 (0.2); ", "; DG 0.1 (0.1)"]),
        (
            "every-variant",
            variants(bag=(0.1, -0.01, 0.05, -0.1)),
            ["per gradient step: copy, bag: 0.100 [", "reverse-flip, bag: -0.100 ["],
        ),
        (
            "sequential-gap",
            variants(bag=(0.1, -0.01, 0.05, -0.1)),
            ["copy 0.1000 → 0.2000; ", "reverse-flip -0.1000 → 0.2000"],
        ),
        ("best-additive", mixtures(0.1), ["at α = 0.75, η = 2"]),
        ("additive-beats-pg", mixtures(0.2), ["at α = 0.75, η = 2; REINFORCE 0.3000"]),
        ("additive-below-dg", mixtures(0.1), ["best at α = 0.75, η = 2; 0 of 30 match DG"]),
        ("additive-below-dg", mixtures(0.1, dg=0.2), ["1 of 30 match DG"]),
    ],
)
def test_the_numbers_are_in_the_note(runs, name, measured, parts):
    note = CLAIMS[name].check(runs(CLAIMS[name].sweep, measured)).note
    assert [part for part in parts if part not in note] == [], note


def test_the_best_of_a_grid_is_by_regret_and_not_by_the_last_error(runs):
    # All other mixtures end at 0; `falling` says so of every regret here.
    finding = CLAIMS["best-additive"].check(runs(CLAIMS["best-additive"].sweep, mixtures(0.1)))
    assert math.isclose(finding.value, sum(falling(0.1)) / 4, rel_tol=1e-6)


@pytest.mark.parametrize(
    ("plan", "verdict"),
    [
        (Plan("quick"), PARTLY),
        (Plan("paper", changes={"steps": "9900"}), PARTLY),
        (Plan("quick", changes={"steps": "10000"}), REPRODUCED),
    ],
)
def test_runs_shorter_than_the_papers_show_at_most_in_part_that_none_catches_up(
    runs, plan, verdict
):
    claim = CLAIMS["extended"]
    finding = claim.check(runs(claim.sweep, end(pg=0.2, ppo=0.3, pmpo=0.4, dg=0.1), plan))
    assert (finding.verdict, finding.value) == (verdict, pytest.approx(0.1))
    worse = claim.check(runs(claim.sweep, end(pg=0.05, ppo=0.3, pmpo=0.4, dg=0.1), plan))
    assert (worse.verdict, worse.value) == (NOT, pytest.approx(-0.05))


def test_penalties_are_compared_on_the_clips_that_have_them_all(runs):
    # At the quick scale ε = 0.2 is run without a penalty only, and would be worse than the others.
    claim = CLAIMS["ppo-kl"]
    table = runs(claim.sweep, lambda c: 0.9 if c.method == "ppo" else 0.2 + c.kl, Plan("quick"))
    assert claim.check(table).value == pytest.approx(0.1)


def test_preferences_are_compared_where_both_kinds_were_run_alike(runs):
    # At the quick scale α = 0.5 is run with one pass only, and α = 1 would be better with four.
    claim = CLAIMS["pmpo-boundary"]
    regrets = {("pmpo", 0.5, 1): 0.3, ("pmpo", 1.0, 1): 0.35}
    table = runs(claim.sweep, lambda c: regrets.get((*parsed(c), c.epochs), 0.01), Plan("quick"))
    finding = claim.check(table)
    assert (finding.verdict, finding.value) == (NOT, pytest.approx(-0.05))
    assert finding.note == "best by α: 0.5: 0.3000; 1: 0.3500"
