"""Claims on robustness, on runs whose outcome is known: each verdict occurs, with its value.

They are those of Appendices D.2 and D.3.
"""

import pytest

from delightful.lab.cells import Plan
from delightful.lab.verdicts import NotMeasuredError, headline
from delightful.paper.tokens.claims.robustness import claims
from delightful.paper.tokens.sweep import RATES

CLAIMS = {claim.id.removeprefix("tokens/"): claim for claim in claims}
REPRODUCED, NOT, OPEN = "reproduced", "not reproduced", "inconclusive"
BOTH = (REPRODUCED, REPRODUCED)  # per gradient step and per episode
NEITHER = (NOT, NOT)


def falling(regret):
    """Errors whose mean is the regret: the last one would decide otherwise."""
    if isinstance(regret, tuple):
        return regret
    return (2.5 * regret, regret, 0.4 * regret, 0.1 * regret)


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


CASES = [
    ("learning-rates", rates(0.3, 0.1, 0.05, 0.2), BOTH, 0.05),
    ("learning-rates", rates(*[0.1] * 4, ppo=(0.25, 1, 1, 1)), BOTH, 0.05),
    ("learning-rates", rates(*[0.1] * 4, ppo=(0.5, 0.05, 0.05, 0.05)), (REPRODUCED, NOT), 0.1),
    ("learning-rates", rates(*[0.1] * 4, ppo=(0.15, 1, 1, 1)), (NOT, REPRODUCED), -0.05),
    ("learning-rates", rates(0.1, -0.05, 0.1, -0.02), NEITHER, -0.05),
    ("learning-rates", rates(0.1, 1e-4, 0.1, 0.1), (OPEN, OPEN), 1e-4),
    ("learning-rates", rates(*[-0.15] * 4, ppo=(0.1,) * 4), NEITHER, -0.15),
    ("extended", end(pg=0.2, ppo=0.3, pmpo=0.15, dg=0.1), BOTH, 0.05),
    ("extended", end(pg=0.2, ppo=(0.12, 0, 0, 0.3), pmpo=0.3, dg=0.1), BOTH, 0.02),
    ("extended", end(pg=0.2, ppo=0.05, pmpo=0.3, dg=0.1), (REPRODUCED, NOT), 0.1),
    ("extended", end(pg=0.2, ppo=(0.05, 1, 1, 0.3), pmpo=0.3, dg=0.1), (NOT, REPRODUCED), -0.05),
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
    check_decision, name, measured, verdicts, value
):
    check_decision(CLAIMS[name], measured, verdicts, value)


def test_every_claim_can_come_out_both_ways_or_stay_open():
    seen = {(name, verdict) for name, _, verdicts, _ in CASES for verdict in verdicts}
    assert seen == {(name, verdict) for name in CLAIMS for verdict in (REPRODUCED, NOT, OPEN)}


# What is said besides


@pytest.mark.parametrize(
    ("name", "measured", "measures"),
    [
        ("learning-rates", rates(0.3, 0.1, 0.05, 0.2), "baseline − DG, PMPO, rate 0.001"),
        ("extended", end(pg=0.2, ppo=0.3, pmpo=0.4, dg=0.1), "final error, baseline − DG, PG"),
        (
            "every-variant",
            variants(sequential=(0.2, 0.2, 0.02, 0.2)),
            "DG, PMPO, reverse-copy, sequential reward",
        ),
    ],
)
def test_the_case_that_was_decisive_is_named(runs, decided, name, measured, measures):
    _, outcomes, _ = decided(CLAIMS[name], runs(CLAIMS[name].readings[1].sweep, measured))
    assert headline(outcomes).measures.endswith(measures)


@pytest.mark.parametrize(
    ("name", "measured", "cases"),
    [
        ("learning-rates", rates(0.3, 0.1, 0.05, 0.2), 4 * 3),
        ("every-variant", variants(), 8 * 3),
        ("sequential-gap", variants(), 4 * 3),
    ],
)
def test_every_case_of_a_grid_is_judged(runs, decided, name, measured, cases):
    _, outcomes, _ = decided(CLAIMS[name], runs(CLAIMS[name].readings[1].sweep, measured))
    assert len({outcome.case for outcome in outcomes}) == len(outcomes) == cases


@pytest.mark.parametrize(
    ("name", "measured", "note"),
    [
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
    ],
)
def test_the_numbers_are_in_the_note(runs, decided, name, measured, note):
    assert decided(CLAIMS[name], runs(CLAIMS[name].readings[1].sweep, measured))[2] == note


@pytest.mark.parametrize("reading", [0, 1])
@pytest.mark.parametrize(
    ("plan", "steps"),
    [(Plan("quick"), "400"), (Plan("paper", changes={"steps": "9900"}), "9,900")],
)
def test_runs_shorter_than_the_papers_do_not_show_that_none_catches_up(
    runs, decided, plan, steps, reading
):
    claim = CLAIMS["extended"]
    table = runs(claim.readings[1].sweep, end(pg=0.2, ppo=0.3, pmpo=0.4, dg=0.1), plan)
    with pytest.raises(NotMeasuredError, match=f"10,000 batches, and these have {steps}"):
        decided(claim, table, reading)


def test_runs_as_long_as_the_papers_show_it_at_any_scale(runs, decided):
    plan, claim = Plan("quick", changes={"steps": "10000"}), CLAIMS["extended"]
    table = runs(claim.readings[1].sweep, end(pg=0.2, ppo=0.3, pmpo=0.4, dg=0.1), plan)
    assert decided(claim, table)[0] == REPRODUCED
