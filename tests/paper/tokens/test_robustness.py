"""The claims of Appendix D on runs whose outcome is known: each verdict occurs, with its value."""

import pytest

from delightful.lab.cells import Plan
from delightful.lab.verdicts import NotMeasuredError, headline
from delightful.paper.tokens.claims import robustness
from delightful.paper.tokens.claims import tuning as grids
from delightful.paper.tokens.sweep import RATES
from delightful.weights import parse_method

CLAIMS = {claim.id.removeprefix("tokens/"): claim for claim in grids.claims + robustness.claims}
REPRODUCED, PARTLY, NOT, OPEN = "reproduced", "partly", "not reproduced", "inconclusive"
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
    ("ppo-clip", clips(1.28), (NOT,), 1.28),
    ("ppo-kl", penalties(-0.05), (REPRODUCED,), 0.05),
    ("ppo-kl", penalties(1e-4), (OPEN,), -1e-4),
    ("ppo-kl", penalties(0.01), (NOT,), -0.01),
    ("pmpo-boundary", preferences(), (REPRODUCED,), 0.1),
    ("pmpo-boundary", preferences(at=1.0), (REPRODUCED,), 0.1),
    ("pmpo-boundary", preferences(inner=0.2), (OPEN,), 0.0),
    ("pmpo-boundary", preferences(inner=0.1), (NOT,), -0.1),
    ("learning-rates", rates(0.3, 0.1, 0.05, 0.2), BOTH, 0.05),
    ("learning-rates", rates(*[0.1] * 4, ppo=(0.25, 1, 1, 1)), BOTH, 0.05),
    ("learning-rates", rates(*[0.1] * 4, ppo=(0.5, 0.05, 0.05, 0.05)), (REPRODUCED, PARTLY), 0.1),
    ("learning-rates", rates(*[0.1] * 4, ppo=(0.15, 1, 1, 1)), (PARTLY, REPRODUCED), -0.05),
    ("learning-rates", rates(0.1, -0.05, 0.1, -0.02), (PARTLY, PARTLY), -0.05),
    ("learning-rates", rates(0.1, 1e-4, 0.1, 0.1), (OPEN, OPEN), 1e-4),
    ("learning-rates", rates(*[-0.15] * 4, ppo=(0.1,) * 4), NEITHER, -0.15),
    ("extended", end(pg=0.2, ppo=0.3, pmpo=0.15, dg=0.1), BOTH, 0.05),
    ("extended", end(pg=0.2, ppo=(0.12, 0, 0, 0.3), pmpo=0.3, dg=0.1), BOTH, 0.02),
    ("extended", end(pg=0.2, ppo=0.05, pmpo=0.3, dg=0.1), (REPRODUCED, PARTLY), 0.1),
    ("extended", end(pg=0.2, ppo=(0.05, 1, 1, 0.3), pmpo=0.3, dg=0.1), (PARTLY, REPRODUCED), -0.05),
    ("extended", end(pg=0.1001, ppo=0.3, pmpo=0.3, dg=0.1), (OPEN, OPEN), 1e-4),
    ("extended", end(pg=0.05, ppo=(0.06, 1, 1, 0.06), pmpo=0.08, dg=0.1), NEITHER, -0.05),
    ("every-variant", variants(), BOTH, 0.1),
    ("every-variant", variants(sequential=(0.2, 0.2, 0.02, 0.2)), BOTH, 0.02),
    ("every-variant", variants(ppo={"bag": (0.5, 0.1, 0.1, 0.1)}), (REPRODUCED, NOT), 0.1),
    (
        "every-variant",
        variants(ppo=dict.fromkeys(("bag", "sequential"), (0.25, 1, 1, 1))),
        (NOT, REPRODUCED),
        -0.05,
    ),
    ("every-variant", variants(bag=(0.1, 0.0, 0.1, 0.1)), (OPEN, OPEN), 0.0),
    ("every-variant", variants(bag=(0.1, -0.1, 0.1, 0.1)), NEITHER, -0.1),
    ("additive-beats-pg", mixtures(0.2), (REPRODUCED,), 0.1),
    ("additive-beats-pg", mixtures(0.3), (OPEN,), 0.0),
    ("additive-beats-pg", mixtures(0.35), (NOT,), -0.05),
    ("additive-below-dg", mixtures(0.1), (REPRODUCED,), 0.06),
    ("additive-below-dg", mixtures(0.04), (OPEN,), 0.0),
    ("additive-below-dg", mixtures(0.03), (NOT,), -0.01),
    # PPO's gap after as many gradient steps is 2.5 times as much larger: in all of the tasks, in
    # three, in half, and in one of them.
    ("sequential-gap", variants(), BOTH, 0.1),
    ("sequential-gap", variants(sequential=(0.2, 0.0, 0.2, 0.15)), BOTH, -0.25),
    ("sequential-gap", variants(sequential=(0.2, 0.0, 0.2, 0.0)), NEITHER, -0.25),
    ("sequential-gap", variants(sequential=(0.2, 0.1, 0.1, 0.0)), (OPEN, OPEN), -0.25),
    # PG's and PMPO's in half of the tasks, and PPO's in all or none.
    (
        "sequential-gap",
        variants(sequential=(0.2, 0.2, 0, 0), ppo={"bag": 0.35, "sequential": (0.9, 0, 0, 0)}),
        (REPRODUCED, NOT),
        -0.1,
    ),
]


@pytest.mark.parametrize(("name", "measured", "verdicts", "value"), CASES)
def test_a_verdict_and_its_value_follow_from_the_runs(
    runs, decided, name, measured, verdicts, value
):
    claim = CLAIMS[name]
    table = runs(claim.sweep, measured)
    found = [decided(claim, table, reading) for reading in range(len(claim.readings))]
    assert tuple(verdict for verdict, *_ in found) == verdicts, found
    estimate = headline(found[0][1]).estimate
    assert estimate.value == pytest.approx(value, abs=3e-7)
    assert estimate.low < estimate.value < estimate.high


def test_every_claim_can_come_out_both_ways_or_stay_open():
    seen = {(name, verdict) for name, _, verdicts, _ in CASES for verdict in verdicts}
    parts = {(name, PARTLY) for name, claim in CLAIMS.items() if claim.rule.parts}
    each = {(name, verdict) for name in CLAIMS for verdict in (REPRODUCED, NOT, OPEN)}
    assert seen == each | parts


# What is said besides


@pytest.mark.parametrize(
    ("name", "measured", "measures"),
    [
        ("tuning-does-not-help", tuned(), "PMPO − DG, PPO at ε = 0.4, β = 0.03, passes = 4"),
        (
            "tuning-does-not-help",
            tuned(ppo=0.2, pmpo=0.1),
            "PMPO − DG, PMPO at α = 0, β = 0, passes = 1",
        ),
        ("learning-rates", rates(0.3, 0.1, 0.05, 0.2), "baseline − DG, PMPO, rate 0.001"),
        ("ppo-clip", clips(1.3), "ε = 0.8"),
        ("ppo-kl", penalties(0.01), "with a KL penalty − without, β = 0.3"),
        ("pmpo-boundary", preferences(), "α = 0.25, β = 1, passes = 4"),
        ("extended", end(pg=0.2, ppo=0.3, pmpo=0.4, dg=0.1), "final error, baseline − DG, PG"),
        (
            "every-variant",
            variants(sequential=(0.2, 0.2, 0.02, 0.2)),
            "DG, PMPO, reverse-copy, sequential reward",
        ),
        ("additive-below-dg", mixtures(0.1), "mixture − DG, α = 0.75, η = 2"),
    ],
)
def test_the_case_that_was_decisive_is_named(runs, decided, name, measured, measures):
    _, outcomes, _ = decided(CLAIMS[name], runs(CLAIMS[name].sweep, measured))
    assert headline(outcomes).measures.endswith(measures)


@pytest.mark.parametrize(
    ("name", "measured", "cases"),
    [
        ("tuning-does-not-help", tuned(), 30 + 35),
        ("ppo-clip", clips(1.02), 4),
        ("ppo-kl", penalties(0.01), 5),
        ("pmpo-boundary", preferences(), 3 * 7),
        ("learning-rates", rates(0.3, 0.1, 0.05, 0.2), 4 * 3),
        ("every-variant", variants(), 8 * 3),
        ("sequential-gap", variants(), 4 * 3),
        ("additive-below-dg", mixtures(0.1), 30),
    ],
)
def test_every_case_of_a_grid_is_judged(runs, decided, name, measured, cases):
    _, outcomes, _ = decided(CLAIMS[name], runs(CLAIMS[name].sweep, measured))
    assert len({outcome.case for outcome in outcomes}) == len(outcomes) == cases


@pytest.mark.parametrize(
    ("name", "measured", "note"),
    [
        ("tuned-ppo", tuned(), "the best is ε = 0.4, β = 0.03, passes = 4"),
        ("tuned-pmpo", tuned(), "the best is α = 0, β = 0, passes = 1"),
        (
            "tuning-does-not-help",
            tuned(),
            "lowest regrets: PPO 0.0750 at ε = 0.4, β = 0.03, passes = 4; "
            "PMPO 0.0800 at α = 0, β = 0, passes = 1; DG 0.0050",
        ),
        ("ppo-clip", clips(1.3), "the best is ε = 0.05: 0.1000"),
        ("ppo-kl", penalties(0.01), "regret without: 0.2310"),
        ("pmpo-boundary", preferences(), "the best is α = 0, β = 0.1, passes = 4: 0.2000"),
        (
            "learning-rates",
            rates(0.3, 0.1, 0.05, 0.2, best={1e-3: 0.1}.items()),
            "lowest regrets: PG 0.2500 at 0.001; PPO 0.6250 at 0.001; PMPO 0.1500 at 0.001; "
            "DG 0.1000 at 0.001",
        ),
        (
            "extended",
            end(pg=0.2, ppo=0.3, pmpo=0.4, dg=0.1),
            "mean (median) error after 10,000 gradient steps: PG 0.2 (0.2); PPO 0.5 (0.5); "
            "PMPO 0.4 (0.4); DG 0.1 (0.1)",
        ),
        ("best-additive", mixtures(0.1), "the best mixture has α = 0.75, η = 2: 0.1000"),
        (
            "additive-beats-pg",
            mixtures(0.2),
            "the best mixture has α = 0.75, η = 2: 0.2000; REINFORCE: 0.3000",
        ),
        (
            "additive-below-dg",
            mixtures(0.1),
            "the best mixture has α = 0.75, η = 2: 0.1000; DG: 0.0400",
        ),
    ],
)
def test_the_numbers_are_in_the_note(runs, decided, name, measured, note):
    assert decided(CLAIMS[name], runs(CLAIMS[name].sweep, measured))[2] == note


def test_the_best_of_a_grid_is_by_regret_and_not_by_the_last_error(runs, decided):
    # All other mixtures end at 0; `falling` says so of every regret here.
    claim = CLAIMS["best-additive"]
    _, (outcome,), _ = decided(claim, runs(claim.sweep, mixtures(0.1)))
    assert outcome.estimate.value == pytest.approx(sum(falling(0.1)) / 4, rel=1e-6)


@pytest.mark.parametrize("reading", [0, 1])
@pytest.mark.parametrize(
    ("plan", "steps"),
    [(Plan("quick"), "1,200"), (Plan("paper", changes={"steps": "9900"}), "9,900")],
)
def test_runs_shorter_than_the_papers_do_not_show_that_none_catches_up(
    runs, decided, plan, steps, reading
):
    claim = CLAIMS["extended"]
    table = runs(claim.sweep, end(pg=0.2, ppo=0.3, pmpo=0.4, dg=0.1), plan)
    with pytest.raises(NotMeasuredError, match=f"10,000 batches, and these have {steps}"):
        decided(claim, table, reading)


def test_runs_as_long_as_the_papers_show_it_at_any_scale(runs, decided):
    plan, claim = Plan("quick", changes={"steps": "10000"}), CLAIMS["extended"]
    table = runs(claim.sweep, end(pg=0.2, ppo=0.3, pmpo=0.4, dg=0.1), plan)
    assert decided(claim, table)[0] == REPRODUCED


def test_clips_that_are_close_show_no_insensitivity(runs, decided):
    # At the quick scale ε = 0.2 and ε = 0.4 are run.
    claim = CLAIMS["ppo-clip"]
    with pytest.raises(NotMeasuredError, match="a factor of 4 apart"):
        decided(claim, runs(claim.sweep, clips(1.02), Plan("quick")))


def test_penalties_are_compared_on_the_clips_that_have_them_all(runs, decided):
    # At the quick scale ε = 0.2 is run without a penalty only, and would be worse than the others.
    claim = CLAIMS["ppo-kl"]
    table = runs(claim.sweep, lambda c: 0.9 if c.method == "ppo" else 0.2 + c.kl, Plan("quick"))
    _, (outcome,), _ = decided(claim, table)
    assert (outcome.case, outcome.estimate.value) == ("β = 0.1", pytest.approx(0.1))


def test_preferences_are_compared_where_both_kinds_were_run_alike(runs, decided):
    # At the quick scale α = 0.5 is run with one pass only, and α = 1 would be better with four.
    claim = CLAIMS["pmpo-boundary"]
    regrets = {("pmpo", 0.5, 1): 0.3, ("pmpo", 1.0, 1): 0.35}
    table = runs(claim.sweep, lambda c: regrets.get((*parsed(c), c.epochs), 0.01), Plan("quick"))
    verdict, (outcome,), note = decided(claim, table)
    assert (verdict, outcome.estimate.value) == (NOT, pytest.approx(-0.05))
    assert outcome.case == "α = 0.5, β = 0, passes = 1"
    assert note == "the best is α = 1, β = 0, passes = 1: 0.3500"
