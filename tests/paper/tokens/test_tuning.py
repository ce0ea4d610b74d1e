"""Claims on grids of settings, on runs whose outcome is known: each verdict occurs, with its value.

They are those of Appendices D.1 and D.4.
"""

import pytest

from delightful.lab.cells import Plan
from delightful.lab.verdicts import NotMeasuredError, confidence_of, headline
from delightful.paper.tokens.claims.tuning import claims
from delightful.registry import parse_method

CLAIMS = {claim.id.removeprefix("tokens/"): claim for claim in claims}
REPRODUCED, NOT, OPEN = "reproduced", "not reproduced", "inconclusive"
BOTH = (REPRODUCED, REPRODUCED)  # per gradient step and per episode
NEITHER = (NOT, NOT)


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


def penalties(ratio):
    """With every ε, β = 0.3 is the best penalty, with `ratio` times the regret of none."""
    ratios = {0.0: 1.0, 0.3: ratio}

    def error(c):
        name, *options = parsed(c)
        return ratios.get(c.kl, 2.0) * (0.2 + 0.1 * options[0]) if name == "ppo" else 0.001

    return error


def preferences(at=0.0, edge=0.2, inner=0.3):
    """PMPO's best α at the boundary, and its best between, each with a penalty of its own."""
    best = {("pmpo", at, 0.1): edge, ("pmpo", 0.25, 1.0): inner}
    return lambda c: best.get((*parsed(c), c.kl), 0.5)


def mixtures(best, *, dg=0.04, pg=0.3, others=0.5):
    """The best mixture is α = 0.75 and η = 2 at learning rate 10⁻³; others end lower but learn
    slower."""

    def error(c):
        name, *options = parsed(c)
        if name == "additive":
            here = options == [0.75, 2.0] and c.learning_rate == 1e-3
            return falling(best) if here else (others, others, others, 0.0)
        return falling({"dg": dg, "pg": pg}.get(name, 0.001))

    return error


def around(name, low, high, measured):
    """Both sides of either end of "≈", and the ends themselves."""
    sides = [(low, NOT, REPRODUCED), (high, REPRODUCED, NOT)]
    return [
        (name, measured(at * by), (verdict,), at * by)
        for at, below, above in sides
        for by, verdict in ((0.98, below), (1, OPEN), (1.02, above))
    ]


CASES = [
    ("tuned-dg", dg(0.0098), (REPRODUCED,), 0.0098),
    ("tuned-dg", dg(0.01), (OPEN,), 0.01),
    ("tuned-dg", dg(0.0102), (NOT,), 0.0102),
    *around("tuned-ppo", 0.02, 0.045, lambda x: tuned(ppo=x)),
    *around("tuned-pmpo", 0.055, 0.12, lambda x: tuned(pmpo=x)),
    *around("best-additive", 0.07, 0.14, mixtures),
    *around("dg-beside-additive", 0.03, 0.055, lambda x: mixtures(0.1, dg=x)),
    # PPO has made DG's gradient steps at a quarter of its episodes, where its error is 2.5 times
    # its regret.
    ("tuning-does-not-help", tuned(), BOTH, 0.07),
    ("tuning-does-not-help", tuned(ppo=0.2, pmpo=0.1), BOTH, 0.095),
    ("tuning-does-not-help", tuned(ppo=0.005), (REPRODUCED, OPEN), 0.0075),
    ("tuning-does-not-help", tuned(ppo=0.004), (REPRODUCED, NOT), 0.005),
    ("tuning-does-not-help", tuned(ppo=(0.003, 1.0, 1.0, 1.0)), (NOT, REPRODUCED), -0.002),
    ("tuning-does-not-help", tuned(pmpo=0.005), (OPEN, OPEN), 0.0),
    ("tuning-does-not-help", tuned(pmpo=0.004), NEITHER, -0.001),
    ("tuning-does-not-help", tuned(dg=0.1), NEITHER, -0.025),
    ("ppo-clip", clips(1.02), (REPRODUCED,), 1.02),
    ("ppo-clip", clips(1.22), (REPRODUCED,), 1.22),
    ("ppo-clip", clips(1.25), (OPEN,), 1.25),
    ("ppo-clip", clips(1.3), (NOT,), 1.3),
    ("ppo-kl", penalties(1.2), (REPRODUCED,), 1.2),
    ("ppo-kl", penalties(0.93), (REPRODUCED,), 0.93),
    ("ppo-kl", penalties(0.9), (OPEN,), 0.9),
    ("ppo-kl", penalties(0.87), (NOT,), 0.87),
    ("pmpo-boundary", preferences(), (REPRODUCED,), 0.1),
    ("pmpo-boundary", preferences(at=1.0), (REPRODUCED,), 0.1),
    ("pmpo-boundary", preferences(inner=0.2), (OPEN,), 0.0),
    ("pmpo-boundary", preferences(inner=0.1), (NOT,), -0.1),
    ("additive-beats-pg", mixtures(0.2), (REPRODUCED,), 0.1),
    ("additive-beats-pg", mixtures(0.3), (OPEN,), 0.0),
    ("additive-beats-pg", mixtures(0.35), (NOT,), -0.05),
    ("additive-below-dg", mixtures(0.1), (REPRODUCED,), 0.06),
    ("additive-below-dg", mixtures(0.04), (OPEN,), 0.0),
    ("additive-below-dg", mixtures(0.03), (NOT,), -0.01),
]


@pytest.mark.parametrize(("name", "measured", "verdicts", "value"), CASES)
def test_a_verdict_and_its_value_follow_from_the_runs(
    check_decision, name, measured, verdicts, value
):
    check_decision(CLAIMS[name], measured, verdicts, value)


def test_every_claim_can_come_out_both_ways_or_stay_open():
    seen = {(name, verdict) for name, _, verdicts, _ in CASES for verdict in verdicts}
    assert seen == {(name, verdict) for name in CLAIMS for verdict in (REPRODUCED, NOT, OPEN)}


# What is said besides

BEST_MIXTURE = "the lowest mean has α = 0.75, η = 2, learning rate = 0.001"


@pytest.mark.parametrize(
    ("name", "measured", "measures"),
    [
        ("tuning-does-not-help", tuned(), "PMPO − DG, PPO at ε = 0.4, β = 0.03, passes = 4"),
        (
            "tuning-does-not-help",
            tuned(ppo=0.2, pmpo=0.1),
            "PMPO − DG, PMPO at α = 0, β = 0, passes = 1",
        ),
        ("ppo-clip", clips(1.3), "ε = 0.8"),
        ("ppo-kl", penalties(0.87), "with a KL penalty over that without, β = 0.3"),
        ("pmpo-boundary", preferences(), "α = 0.25, β = 1, passes = 4"),
        (
            "additive-below-dg",
            mixtures(0.1),
            "DG, α = 0.75, η = 2, learning rate = 0.001",
        ),
    ],
)
def test_the_case_that_was_decisive_is_named(runs, decided, name, measured, measures):
    _, outcomes, _ = decided(CLAIMS[name], runs(CLAIMS[name].readings[1].sweep, measured))
    assert headline(outcomes).measures.endswith(measures)


@pytest.mark.parametrize(
    ("name", "measured", "cases"),
    [
        ("tuning-does-not-help", tuned(), 30 + 35),
        ("ppo-clip", clips(1.02), 5),
        ("ppo-kl", penalties(0.87), 5),
        ("pmpo-boundary", preferences(), 3 * 7),
        ("additive-below-dg", mixtures(0.1), 90),
    ],
)
def test_every_case_of_a_grid_is_judged(runs, decided, name, measured, cases):
    _, outcomes, _ = decided(CLAIMS[name], runs(CLAIMS[name].readings[1].sweep, measured))
    assert len({outcome.case for outcome in outcomes}) == len(outcomes) == cases


@pytest.mark.parametrize(
    ("name", "measured", "note"),
    [
        ("tuned-ppo", tuned(), "the lowest mean is that of ε = 0.4, β = 0.03, passes = 4"),
        ("tuned-pmpo", tuned(), "the lowest mean is that of α = 0, β = 0, passes = 1"),
        (
            "tuning-does-not-help",
            tuned(),
            "lowest regrets: PPO 0.0750 at ε = 0.4, β = 0.03, passes = 4; "
            "PMPO 0.0800 at α = 0, β = 0, passes = 1; DG 0.0050",
        ),
        (
            "ppo-clip",
            clips(1.3),
            "regret by ε: 0.1000 at 0.05, 0.1020 at 0.1, 0.1060 at 0.2, 0.1140 at 0.4, "
            "0.1300 at 0.8",
        ),
        ("ppo-kl", penalties(0.87), "regret without: 0.2310"),
        (
            "pmpo-boundary",
            preferences(),
            "lowest at α = 0 or 1: 0.2000 with α = 0, β = 0.1, passes = 4",
        ),
        ("best-additive", mixtures(0.1), f"{BEST_MIXTURE}: 0.1000"),
        (
            "additive-beats-pg",
            mixtures(0.2),
            f"{BEST_MIXTURE}: 0.2000; REINFORCE: 0.3000",
        ),
        (
            "additive-below-dg",
            mixtures(0.1),
            f"{BEST_MIXTURE}: 0.1000; DG: 0.0400",
        ),
    ],
)
def test_the_numbers_are_in_the_note(runs, decided, name, measured, note):
    assert decided(CLAIMS[name], runs(CLAIMS[name].readings[1].sweep, measured))[2] == note


@pytest.mark.parametrize(
    ("name", "measured", "settings"),
    [
        ("tuned-ppo", tuned(), 30),
        ("tuned-pmpo", tuned(), 35),
        ("ppo-clip", clips(1.02), 5 - 1),  # the other ε
        ("pmpo-boundary", preferences(), 2 * 7),  # α = 0 and 1
        ("best-additive", mixtures(0.1), 90),
        ("additive-beats-pg", mixtures(0.2), 90),
    ],
)
def test_the_best_is_sought_among_all_settings(runs, decided, name, measured, settings):
    _, outcomes, _ = decided(CLAIMS[name], runs(CLAIMS[name].readings[1].sweep, measured))
    assert {len(outcome.quantity.of) for outcome in outcomes} == {settings}


@pytest.mark.parametrize(
    ("name", "measured"),
    [
        ("tuned-ppo", tuned(ppo=0.0445)),
        ("tuned-pmpo", tuned(pmpo=0.1185)),
        ("pmpo-boundary", preferences(inner=0.2018)),
        ("best-additive", mixtures(0.1385)),
        ("additive-beats-pg", mixtures(0.296)),
    ],
)
def test_the_best_is_not_judged_as_if_it_were_the_only_one(runs, decided, name, measured):
    claim = CLAIMS[name]
    verdict, outcomes, _ = decided(claim, runs(claim.readings[1].sweep, measured))
    assert verdict == OPEN
    best, confidence = headline(outcomes), confidence_of(claim.readings[1].sweep.seeds["paper"])
    alone = [best.criterion.judge(one.estimate(confidence)) for one in best.quantity.of]
    assert "holds" in alone


def test_each_clip_is_compared_with_the_best_other(runs, decided):
    _, outcomes, _ = decided(CLAIMS["ppo-clip"], runs(CLAIMS["ppo-clip"].sweep, clips(1.3)))
    ratios = {outcome.case: outcome.estimate.value for outcome in outcomes}
    over_best = {"ε = 0.1": 1.02, "ε = 0.2": 1.06, "ε = 0.4": 1.14, "ε = 0.8": 1.3}
    assert ratios == pytest.approx({"ε = 0.05": 1 / 1.02, **over_best}, abs=1e-6)


def test_the_best_of_a_grid_is_by_regret_and_not_by_the_last_error(runs, decided):
    # All other mixtures end at 0; `falling` says so of every regret here.
    claim = CLAIMS["best-additive"]
    _, (outcome,), _ = decided(claim, runs(claim.readings[1].sweep, mixtures(0.1)))
    assert outcome.estimate.value == pytest.approx(sum(falling(0.1)) / 4, rel=1e-6)


def test_clips_that_are_close_show_no_insensitivity(runs, decided):
    # At the quick scale ε = 0.2 and ε = 0.4 are run.
    claim = CLAIMS["ppo-clip"]
    with pytest.raises(NotMeasuredError, match="a factor of 4 apart"):
        decided(claim, runs(claim.readings[1].sweep, clips(1.02), Plan("quick")))


def test_penalties_are_compared_on_the_clips_that_have_them_all(runs, decided):
    # At the quick scale ε = 0.2 is run without a penalty only, and would be worse than the others.
    claim = CLAIMS["ppo-kl"]
    table = runs(
        claim.readings[1].sweep, lambda c: 0.9 if c.method == "ppo" else 0.2 + c.kl, Plan("quick")
    )
    _, (outcome,), _ = decided(claim, table)
    assert (outcome.case, outcome.estimate.value) == ("β = 0.1", pytest.approx(1.5))


def test_preferences_are_compared_where_both_kinds_were_run_alike(runs, decided):
    # At the quick scale α = 0.5 is run with one pass only, and α = 1 would be better with four.
    claim = CLAIMS["pmpo-boundary"]
    regrets = {("pmpo", 0.5, 1): 0.3, ("pmpo", 1.0, 1): 0.35}
    table = runs(
        claim.readings[1].sweep, lambda c: regrets.get((*parsed(c), c.epochs), 0.01), Plan("quick")
    )
    verdict, (outcome,), note = decided(claim, table)
    assert (verdict, outcome.estimate.value) == (NOT, pytest.approx(-0.05))
    assert outcome.case == "α = 0.5, β = 0, passes = 1"
    assert note == "lowest at α = 0 or 1: 0.3500 with α = 1, β = 0, passes = 1"
