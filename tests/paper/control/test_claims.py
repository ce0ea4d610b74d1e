"""Claims on tables made up so that the answer is known."""

import numpy as np
import polars as pl
import pytest
from made_up import GOOD, STEPS, runs

from delightful.lab import style
from delightful.lab.verdicts import NotMeasuredError, judge
from delightful.paper.control import EXPERIMENT, scores
from delightful.paper.control.claims import tasks as claims
from delightful.paper.control.claims import tuning
from delightful.paper.control.figures import tasks as figures
from delightful.paper.control.sweep import QUICK_TASKS

ON_ALL = ("majority", "never-worst", "no-catastrophe", "lowest-regret")
CHECKS = (claims.majority, claims.never_worst, claims.no_catastrophe, claims.lowest_regret)
BY_TASK = CHECKS[:3]
IMPROVED = [
    ("acrobot", "acrobot:swingup"),
    ("finger", "finger:turn_hard"),
    ("humanoid", "humanoid:run"),
]


def scattered(table, method, by):
    """The returns of a method spread over its seeds, by factors from 1 − by to 1 + by."""
    factor = 1 + by * (2 * pl.col("seed") / (table["seed"].n_unique() - 1) - 1)
    spread = pl.when(pl.col("method") == method).then(factor).otherwise(1.0)
    return table.with_columns(deterministic=pl.col("deterministic") * spread)


def test_dg_ahead_everywhere_reproduces_the_main_claims(verdict):
    tasks = {task: dict(GOOD) for task in QUICK_TASKS} | {"hopper:hop": GOOD | {"pg": 5.0}}
    table = runs(tasks, seeds=3)
    for name in (*ON_ALL, "pg-hopper"):
        assert verdict(name, table) == "reproduced", name
    for check in CHECKS:
        assert "on 7 of 28 tasks" in check(table).note
    few = table.filter(pl.col("task") != "cheetah:run")
    once = table.filter((pl.col("seed") == 0) | (pl.col("task") != "cheetah:run"))
    for check in CHECKS:
        for part in (few, once):
            with pytest.raises(
                NotMeasuredError, match="at least 7 tasks are needed; so far on 6 of 28"
            ):
                check(part)


def test_dg_behind_everywhere_does_not(verdict):
    table = runs({task: GOOD | {"dg": 100.0} for task in QUICK_TASKS}, seeds=3)
    for name in (*ON_ALL, "pg-hopper"):
        assert verdict(name, table) == "not reproduced", name
    assert "the worst in 21 of 21 single runs" in claims.never_worst(table).note


def test_fewer_than_three_seeds_decide_nothing():
    table = runs({task: dict(GOOD) for task in QUICK_TASKS})
    for claim in EXPERIMENT.claims:
        if claim.check in CHECKS:
            outcomes = judge(claim.rule, claim.check(table), 0.99, enough=False)
            assert {outcome.status for outcome in outcomes} == {"open"}


def test_a_method_or_a_seed_that_is_missing_decides_nothing():
    table = runs({task: dict(GOOD) for task in QUICK_TASKS})
    two = table.filter(pl.col("method").is_in(["pg", "dg"]))
    apart = table.filter((pl.col("seed") == 0) == (pl.col("task") == "cheetah:run"))
    for check in CHECKS:
        with pytest.raises(NotMeasuredError, match="it needs runs of mpo, ppo too"):
            check(two)
        with pytest.raises(NotMeasuredError, match=r"no task has all .* with 2 seeds"):
            check(apart)


def test_a_seed_more_of_one_run_is_no_seed_more_of_the_others():
    """The lab counts three seeds then: a verdict on two must not pass for one on three."""
    table = runs({task: dict(GOOD) for task in QUICK_TASKS})
    more = runs({"cheetah:run": {"dg": 900.0}}, seeds=3).filter(pl.col("seed") == 2)
    for check in (*CHECKS, claims.acrobot):
        with pytest.raises(NotMeasuredError, match="with 3 seeds"):
            check(pl.concat([table, more]))


def test_most_tasks_are_a_majority_and_one_is_enough_to_be_the_worst(verdict):
    bad = GOOD | {"dg": 100.0}
    for good, expected in ((4, "reproduced"), (3, "not reproduced")):
        ends = dict.fromkeys(QUICK_TASKS[:good], GOOD) | dict.fromkeys(QUICK_TASKS[good:], bad)
        assert verdict("majority", runs(ends, seeds=3)) == expected
    table = runs(dict.fromkeys(QUICK_TASKS, GOOD) | {QUICK_TASKS[0]: bad}, seeds=3)
    assert verdict("never-worst", table) == "not reproduced"
    ahead_of_one = GOOD | {"dg": 550.0}
    table = runs(dict.fromkeys(QUICK_TASKS, ahead_of_one), seeds=3)
    assert verdict("never-worst", table) == "reproduced"
    assert verdict("majority", table) == "not reproduced"


def test_dg_must_match_every_baseline_and_not_only_the_one_of_the_highest_mean(verdict):
    """MPO has the highest mean; PPO is nearly as high, and its seeds are far apart."""
    table = runs({task: GOOD | {"ppo": 690.0} for task in QUICK_TASKS}, seeds=3)
    assert verdict("majority", table) == "reproduced"
    far = scattered(table, "ppo", 0.9)
    assert verdict("majority", far) == "inconclusive"


def test_dg_is_the_worst_only_if_it_is_below_every_baseline(verdict):
    """PG has the lowest mean; PPO is above DG, and its seeds are far apart."""
    ends = GOOD | {"dg": 400.0}
    assert verdict("never-worst", runs(dict.fromkeys(QUICK_TASKS, ends), seeds=3)) == (
        "not reproduced"
    )
    far = scattered(runs(dict.fromkeys(QUICK_TASKS, ends), seeds=3), "ppo", 0.9)
    assert verdict("never-worst", far) == "inconclusive"


def test_a_catastrophe_is_far_below_the_best_baseline(verdict):
    """The best baseline ends at 700: a fifth of it is 140."""
    worst = dict.fromkeys(QUICK_TASKS, GOOD | {"dg": 200.0})
    assert verdict("never-worst", runs(worst, seeds=3)) == "not reproduced"
    assert verdict("no-catastrophe", runs(worst, seeds=3)) == "reproduced"
    fallen = worst | {"hopper:hop": GOOD | {"dg": 100.0}}
    assert verdict("no-catastrophe", runs(fallen, seeds=3)) == "not reproduced"
    assert verdict("no-catastrophe", scattered(runs(worst, seeds=3), "dg", 0.9)) == "inconclusive"
    near = worst | {"hopper:hop": GOOD | {"dg": 140.0}}
    assert verdict("no-catastrophe", scattered(runs(near, seeds=3), "mpo", 0.1)) == "inconclusive"


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (claims.majority, 650 / 700),
        # Of lines that rise to the end the last five evaluations, the final return, have 0.9.
        (claims.never_worst, 0.9 * (650 - 500)),
        (claims.no_catastrophe, 650 / 700),
    ],
)
def test_a_task_has_one_case_in_which_all_baselines_are(check, value):
    table = runs(dict.fromkeys(QUICK_TASKS, GOOD | {"dg": 650.0}), seeds=3)
    (cases,) = check(table).quantities
    assert set(cases) == set(QUICK_TASKS)
    assert {len(case.of) for case in cases.values()} == {3}
    values = [case.estimate(0.99).value for case in cases.values()]
    assert values == pytest.approx([value] * len(QUICK_TASKS), rel=0.01)


def test_the_worst_is_counted_run_by_run_in_the_note(verdict):
    """DG is last in every first seed, though its mean over seeds is not."""
    first = (pl.col("seed") == 0) & (pl.col("method") == "dg")
    table = runs({task: dict(GOOD) for task in QUICK_TASKS}, seeds=3)
    fallen = pl.when(first).then(0.0).otherwise(pl.col("deterministic"))
    table = table.with_columns(deterministic=fallen)
    assert "the worst in 7 of 21 single runs" in claims.never_worst(table).note
    assert verdict("never-worst", table) == "inconclusive"


def test_regret_is_lowest_throughout_only_if_it_is_in_every_quarter(verdict):
    table = runs({task: dict(GOOD) for task in QUICK_TASKS}, seeds=3)
    assert verdict("lowest-regret", scattered(table, "mpo", 0.5)) == "inconclusive"
    early = (pl.col("method") == "dg") & (pl.col("step") <= STEPS // 4)
    late_start = pl.when(early).then(0.0).otherwise(pl.col("deterministic"))
    table = table.with_columns(deterministic=late_start)
    assert verdict("lowest-regret", table) == "not reproduced"
    cases = claims.lowest_regret(table).quantities[0]
    behind = [case for case, lead in cases.items() if lead.estimate(0.99).value < 0]
    assert behind == ["MPO, quarter 1", "PG, quarter 1", "PPO, quarter 1"]
    assert "over all of training: DG 462, MPO 533" in claims.lowest_regret(table).note


def test_a_task_that_nobody_learned_counts_as_run_but_not_as_won(verdict):
    nothing = {"hopper:hop": dict.fromkeys(GOOD, 0.1)}
    table = runs({task: dict(GOOD) for task in QUICK_TASKS} | nothing, seeds=3)
    for name, check in zip(ON_ALL, BY_TASK, strict=False):
        assert verdict(name, table) == "reproduced"
        found = check(table)
        assert "no method has a mean return of 10 there: hopper:hop" in found.note
        assert "7 of 28 tasks" in found.note
        assert len(found.quantities[0]) == 6


def test_matching_is_within_five_percent(verdict):
    for end, expected in ((670.0, "reproduced"), (660.0, "not reproduced")):
        table = runs({task: GOOD | {"dg": end} for task in QUICK_TASKS}, seeds=3)
        assert verdict("majority", table) == expected


@pytest.mark.parametrize(("records", "averaged"), [(100, 10), (20, 5), (2, 2)])
def test_a_final_return_is_of_enough_evaluations(records, averaged):
    step = np.arange(1, records + 1) * 1000 // records
    table = pl.DataFrame({"step": step, "deterministic": np.arange(records, dtype=float)})
    table = table.with_columns(task=pl.lit("a"), method=pl.lit("dg"), seed=0, steps=1000)
    expected = np.arange(records)[-averaged:].mean()
    assert scores.final(table)["final"].to_list() == [expected]


def test_regret_is_to_the_best_mean_of_any_method_at_any_time():
    table = runs({"cheetah:run": GOOD}, seeds=1)
    found = scores.with_regret(table).filter(pl.col("step") == STEPS)
    by_method = dict(zip(found["method"], found["regret"], strict=True))
    assert by_method == pytest.approx({name: 900.0 - end for name, end in GOOD.items()})
    regrets = scores.regrets(runs({"a": GOOD, "b": {k: v / 2 for k, v in GOOD.items()}}))
    assert regrets["pg"].shape == (2, 20)
    assert regrets["pg"][0, -1] == pytest.approx((901 - 500 - 0.5 + 451 - 250.5) / 2, abs=1.0)


def test_only_tasks_and_seeds_of_every_method_are_compared():
    whole, part = runs({"cheetah:run": GOOD}), runs({"walker:walk": {"dg": 1.0, "pg": 900.0}})
    table = pl.concat([whole, part])
    assert scores.complete(table)["task"].unique().to_list() == ["cheetah:run"]
    later = runs({"cheetah:run": {"dg": 1.0}}, seeds=3).filter(pl.col("seed") == 2)
    assert scores.complete(pl.concat([whole, later]))["seed"].n_unique() == 2
    with pytest.raises(NotMeasuredError, match="no task"):
        scores.complete(pl.concat([part, runs({"cheetah:run": {"mpo": 1.0, "dg": 2.0}})]))
    with pytest.raises(NotMeasuredError, match="not enough"):
        scores.complete(runs({"cheetah:run": {"pg": 1.0, "mpo": 2.0}}))


@pytest.mark.parametrize(
    ("more", "expected"), [("dg:temperature=2.0", "reproduced"), ("awr", "not reproduced")]
)
def test_a_method_that_is_added_is_a_baseline_and_another_dg_is_none(more, expected, verdict):
    table = runs({task: GOOD | {more: 990.0} for task in QUICK_TASKS}, seeds=3)
    for name in ("majority", "lowest-regret", "acrobot", "finger"):
        assert verdict(name, table) == expected, name


def test_seeds_that_only_another_dg_has_count_for_no_verdict():
    table = runs(dict.fromkeys(QUICK_TASKS, GOOD))
    more = runs({task: {"dg:temperature=2.0": 990.0} for task in QUICK_TASKS}, seeds=3)
    with pytest.raises(NotMeasuredError, match="with 3 seeds"):
        claims.majority(pl.concat([table, more]))


def test_dg_with_other_options_can_be_drawn_beside_its_rivals():
    table = runs({task: {"dg:temperature=2.0": 900.0, "pg": 500.0} for task in QUICK_TASKS})
    assert scores.complete(table).height == table.height


def test_which_tasks_count_is_said_by_the_rule_in_the_numbers_that_the_check_reads():
    rules = {claim.id.partition("/")[2]: claim.rule for claim in EXPERIMENT.claims}
    for name in ("majority", "never-worst", "no-catastrophe"):
        assert rules[name].conditions == (scores.LEARNED, claims.QUARTER)
        assert "a mean final return of at least 10 (our threshold" in rules[name].words
        assert "if at least 7 of the 28 tasks have been run" in rules[name].words
    assert rules["lowest-regret"].conditions == (claims.QUARTER,)
    for name in ("humanoid", "ppo-humanoid", "pg-hopper", "acrobot", "finger"):
        assert rules[name].conditions == (scores.LEARNED,)
    (least,) = scores.LEARNED.values
    table = runs({"hopper:hop": {"dg": 0.8 * least}, "acrobot:swingup": {"dg": 1.3 * least}})
    assert set(scores.learned(table)["task"]) == {"acrobot:swingup"}


def test_a_task_that_nobody_learned_decides_nothing(verdict):
    table = runs({"hopper:hop": dict.fromkeys(GOOD, 0.1), "acrobot:swingup": GOOD}, seeds=3)
    with pytest.raises(NotMeasuredError, match="no method has a mean return of 10"):
        claims.pg_hopper(table)
    once = pl.when((pl.col("step") == 500) & (pl.col("task") == "hopper:hop")).then(20.0)
    spike = table.with_columns(deterministic=once.otherwise(pl.col("deterministic")))
    assert set(scores.learned(spike)["task"]) == {"acrobot:swingup"}  # by how runs end
    assert verdict("acrobot", table) == "reproduced"
    with pytest.raises(NotMeasuredError, match="finger:turn_hard"):
        claims.finger(table)


@pytest.mark.parametrize(("best", "expected"), [(510.0, "reproduced"), (800.0, "not reproduced")])
def test_no_value_may_be_much_better_than_the_default(best, expected, verdict):
    ends = {"ppo": 500.0, "ppo:clip=0.01": 100.0, "ppo:clip=100.0": best}
    ends |= {"mpo": 500.0, "mpo:temperature=0.001": 100.0, "mpo:temperature=1000.0": best}
    table = runs({"cartpole:swingup": ends}, seeds=3, clipped=0.03, weight=0.4)
    for name, check in (("ppo-clip", tuning.ppo_clip), ("mpo-temperature", tuning.mpo_temperature)):
        assert verdict(name, table) == expected
        ratios = [ratio.estimate(0.99).value for ratio in check(table).quantities[0].values()]
        assert ratios == pytest.approx([101 / 501, (best + 1) / 501], rel=1e-3)
    lacking = table.filter((pl.col("seed") < 2) | (pl.col("method") != "ppo:clip=0.01"))
    with pytest.raises(NotMeasuredError, match="default clip and 2 others, with every seed"):
        tuning.ppo_clip(lacking)
    assert "3.0% of draws have a ratio beyond it" in tuning.ppo_clip(table).note
    assert "least size" not in tuning.mpo_temperature(table).note
    flat = pl.when(pl.col("method").str.ends_with("1000.0")).then(0.05).otherwise(pl.col("weight"))
    note = tuning.mpo_temperature(table.with_columns(weight=flat)).note
    assert "with 1000 weights are below the least size" in note
    with style.context():
        drawing = figures.tuning(table)
    assert set(drawing.numbers["method"]) == {"ppo", "mpo"}
    assert drawing.numbers.height == 6


@pytest.mark.parametrize(
    ("name", "default", "values"),
    [
        ("ppo-clip", "ppo", ("clip=0.01", "clip=100.0")),
        ("mpo-temperature", "mpo", ("temperature=0.001", "temperature=1000.0")),
    ],
)
def test_no_value_is_better_only_if_all_of_them_are_surely_not(name, default, values, verdict):
    """Seeds far apart, of the default or of a value that is no better by its mean, tell nothing."""
    low, high = (f"{default}:{value}" for value in values)
    ends = {default: 500.0, low: 499.0, high: 490.0}
    table = runs({"cartpole:swingup": ends}, seeds=3, clipped=0.0, weight=0.4)
    assert verdict(name, table) == "reproduced"
    for method in (default, high):
        assert verdict(name, scattered(table, method, 0.5)) == "inconclusive"


@pytest.mark.parametrize(
    ("name", "task", "method"),
    [("pg-hopper", "hopper:hop", "pg"), ("ppo-humanoid", "humanoid:run", "ppo")],
)
def test_a_failure_is_far_below_another_method_for_sure(name, task, method, verdict):
    fallen = runs({task: GOOD | {method: 150.0}}, seeds=3)
    assert verdict(name, fallen) == "reproduced"
    (share,) = getattr(claims, name.replace("-", "_"))(fallen).quantities
    assert len(share.of) == 3  # one of the others is enough
    assert share.estimate(0.99).value == pytest.approx(150 / 900, rel=0.01)
    assert verdict(name, scattered(fallen, method, 0.9)) == "inconclusive"
    assert verdict(name, runs({task: GOOD}, seeds=3)) == "not reproduced"
    best = runs({task: GOOD | {method: 950.0}}, seeds=3)
    assert verdict(name, best) == "not reproduced"
    assert verdict(name, scattered(best, method, 0.9)) == "inconclusive"


@pytest.mark.parametrize(
    ("end", "expected"),
    [(760.0, "reproduced"), (720.0, "not reproduced"), (600.0, "not reproduced")],
)
@pytest.mark.parametrize(("name", "task"), IMPROVED)
def test_an_improvement_is_more_than_a_match(name, task, end, expected, verdict):
    assert verdict(name, runs({task: GOOD | {"dg": end}}, seeds=3)) == expected


def test_a_failure_may_be_beside_one_method_alone(verdict):
    ends = dict.fromkeys(GOOD, 100.0) | {"mpo": 700.0}
    assert verdict("pg-hopper", runs({"hopper:hop": ends}, seeds=3)) == "reproduced"
    assert verdict("pg-hopper", runs({"hopper:hop": ends | {"mpo": 400.0}}, seeds=3)) == (
        "not reproduced"
    )


@pytest.mark.parametrize(("name", "task"), IMPROVED)
def test_an_improvement_is_one_over_every_baseline(name, task, verdict):
    """MPO has the highest mean; PPO is nearly as high, and its seeds are far apart."""
    table = runs({task: GOOD | {"ppo": 690.0}}, seeds=3)
    assert verdict(name, table) == "reproduced"
    assert verdict(name, scattered(table, "ppo", 0.9)) == "inconclusive"


def test_a_sentence_on_one_task_needs_every_method():
    table = runs({"acrobot:swingup": {"dg": 900.0, "pg": 5.0}})
    with pytest.raises(NotMeasuredError, match="it needs runs of mpo, ppo too"):
        claims.acrobot(table)


def test_one_seed_decides_nothing(verdict):
    tasks = dict.fromkeys(("acrobot:swingup", "hopper:hop"), GOOD)
    for name in ("acrobot", "pg-hopper"):
        assert verdict(name, runs(tasks, seeds=1)) == "inconclusive"


def test_dropped_episodes_are_reported():
    table = runs({"cheetah:run": GOOD}, dropped=0)
    assert "NaN" not in scores.extent(table)
    assert "steps, 160 episodes with NaN left out" in scores.extent(table.with_columns(dropped=1))


def test_a_mean_over_tasks_is_of_the_same_tasks_for_every_seed():
    table = pl.concat([runs({"cheetah:run": GOOD}), runs({"walker:walk": GOOD}, seeds=1)])
    assert scores.balanced(table)["seed"].unique().to_list() == [0]
    assert scores.balanced(table)["task"].n_unique() == 2
