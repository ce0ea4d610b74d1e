"""Claims on tables made up so that the answer is known."""

import numpy as np
import polars as pl
import pytest
from made_up import GOOD, STEPS, runs

from delightful.lab import style
from delightful.lab.experiment import NotMeasuredError
from delightful.paper.control import scores
from delightful.paper.control.claims import tasks as claims
from delightful.paper.control.claims import tuning
from delightful.paper.control.figures import tasks as figures
from delightful.paper.control.sweep import QUICK_TASKS


def test_dg_ahead_everywhere_reproduces_the_main_claims():
    tasks = {task: dict(GOOD) for task in QUICK_TASKS} | {"hopper:hop": GOOD | {"pg": 5.0}}
    table = runs(tasks)
    for check in (claims.majority, claims.never_worst, claims.lowest_regret, claims.pg_hopper):
        finding = check(table)
        assert finding.verdict == "reproduced", finding
        assert "of 28 tasks" in finding.note
    assert claims.majority(table).value == 1
    assert claims.never_worst(table).value == 0
    few = table.filter(pl.col("task") != "cheetah:run")
    once = table.filter((pl.col("seed") == 0) | (pl.col("task") == "cheetah:run"))
    for check in (claims.majority, claims.never_worst, claims.lowest_regret):
        for part in (few, once):
            with pytest.raises(NotMeasuredError, match="a quarter of the tasks and 2 seeds"):
                check(part)


def test_dg_behind_everywhere_does_not():
    bad = GOOD | {"dg": 100.0}
    table = runs({task: dict(bad) for task in QUICK_TASKS})
    for check in (claims.majority, claims.never_worst, claims.lowest_regret, claims.pg_hopper):
        assert check(table).verdict == "not reproduced"
    assert claims.never_worst(table).value == 14
    assert "cheetah:run 2×, finger:turn_hard 2×" in claims.never_worst(table).note


def test_a_method_or_a_common_seed_that_is_missing_decides_nothing():
    table = runs({task: dict(GOOD) for task in QUICK_TASKS})
    two = table.filter(pl.col("method").is_in(["pg", "dg"]))
    for check in (claims.majority, claims.never_worst, claims.lowest_regret):
        with pytest.raises(NotMeasuredError, match="it needs runs of mpo, ppo too"):
            check(two)
    apart = table.filter((pl.col("seed") == 0) == (pl.col("task") == "cheetah:run"))
    with pytest.raises(NotMeasuredError, match="no seed has been run on every task"):
        claims.lowest_regret(apart)


def test_the_worst_is_counted_run_by_run():
    """DG is last in every first seed, though its mean over seeds is not."""
    seed = pl.col("seed") == 0
    table = runs({task: dict(GOOD) for task in QUICK_TASKS})
    fallen = pl.when(seed & (pl.col("method") == "dg")).then(0.0).otherwise(pl.col("deterministic"))
    finding = claims.never_worst(table.with_columns(deterministic=fallen))
    assert finding.value == 7
    assert finding.verdict == "not reproduced"


def test_a_task_that_nobody_learned_counts_as_run_but_not_as_won():
    nothing = {"hopper:hop": dict.fromkeys(GOOD, 0.1)}
    table = runs({task: dict(GOOD) for task in QUICK_TASKS} | nothing)
    for check in (claims.majority, claims.never_worst):
        finding = check(table)
        assert finding.verdict == "reproduced"
        assert "no method has learned them: hopper:hop" in finding.note
        assert "7 of 28 tasks" in finding.note


def test_matching_is_within_five_percent():
    for end, share in ((670.0, 1.0), (660.0, 0.0)):
        table = runs({task: GOOD | {"dg": end} for task in QUICK_TASKS})
        assert claims.majority(table).value == share


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
    steps, regrets = scores.regrets(runs({"a": GOOD, "b": {k: v / 2 for k, v in GOOD.items()}}))
    assert len(steps) == 20
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


def test_a_task_that_nobody_learned_decides_nothing():
    table = runs({"hopper:hop": dict.fromkeys(GOOD, 0.1), "acrobot:swingup": GOOD})
    with pytest.raises(NotMeasuredError, match="no method has learned"):
        claims.pg_hopper(table)
    once = pl.when((pl.col("step") == 500) & (pl.col("task") == "hopper:hop")).then(20.0)
    spike = table.with_columns(deterministic=once.otherwise(pl.col("deterministic")))
    assert set(scores.learned(spike)["task"]) == {"acrobot:swingup"}  # by how runs end
    assert claims.acrobot(table).verdict == "reproduced"
    with pytest.raises(NotMeasuredError, match="finger:turn_hard"):
        claims.finger(table)


@pytest.mark.parametrize(("best", "verdict"), [(510.0, "reproduced"), (800.0, "not reproduced")])
def test_sensitivity_is_the_best_over_the_default(best, verdict):
    ends = {"ppo": 500.0, "ppo:clip=0.01": 100.0, "ppo:clip=100.0": best}
    ends |= {"mpo": 500.0, "mpo:temperature=0.001": 100.0, "mpo:temperature=1000.0": best}
    table = runs({"cartpole:swingup": ends}, clipped=0.03, weight=0.4)
    for check in (tuning.ppo_clip, tuning.mpo_temperature):
        finding = check(table)
        assert finding.verdict == verdict
        assert finding.value == pytest.approx((best + 0.5) / 500.5, rel=1e-3)
        assert finding.low <= finding.value <= finding.high
    with pytest.raises(NotMeasuredError, match="2 seeds of every clip are needed"):
        tuning.ppo_clip(table.filter(pl.col("seed") == 0))
    assert "3.0% of draws have a ratio beyond it" in tuning.ppo_clip(table).note
    assert "least size" not in tuning.mpo_temperature(table).note
    flat = pl.when(pl.col("method").str.ends_with("1000.0")).then(0.05).otherwise(pl.col("weight"))
    note = tuning.mpo_temperature(table.with_columns(weight=flat)).note
    assert "with 1000 weights are below the least size" in note
    with style.context():
        drawing = figures.tuning(table)
    assert set(drawing.numbers["method"]) == {"ppo", "mpo"}
    assert drawing.numbers.height == 6


def test_no_value_is_better_only_if_all_of_them_are_surely_not():
    """The best value is surely no better; another has nearly its mean, and seeds far apart."""
    ends = {"ppo": 500.0, "ppo:clip=0.01": 499.0, "ppo:clip=100.0": 490.0}
    far = pl.col("method") == "ppo:clip=100.0"
    apart = pl.col("deterministic") * (1 + 0.9 * far * (1 - 2 * pl.col("seed")))
    table = runs({"cartpole:swingup": ends}, clipped=0.0).with_columns(deterministic=apart)
    finding = tuning.ppo_clip(table)
    assert "best other clip, 0.01" in finding.measures
    assert finding.high < tuning.MUCH
    assert finding.verdict == "partly"
    assert "not surely below 1.1: 100 " in finding.note


def test_what_two_seeds_leave_open_is_no_more_than_partly_so():
    """The mean is on the sentence's side, and the seeds are far apart."""
    ends = {"ppo": 500.0, "ppo:clip=0.01": 100.0, "ppo:clip=100.0": 510.0}
    far = pl.col("deterministic") * (1 + 0.3 * pl.col("seed") * (pl.col("method") == "ppo"))
    table = runs({"cartpole:swingup": ends}, clipped=0.0).with_columns(deterministic=far)
    finding = tuning.ppo_clip(table)
    assert finding.verdict == "partly"
    assert finding.low < 1 < tuning.MUCH < finding.high
    assert "best other clip, 100" in finding.measures  # the default itself is the best

    four = dict.fromkeys(QUICK_TASKS[:4], GOOD)
    table = runs(four | dict.fromkeys(QUICK_TASKS[4:], GOOD | {"dg": 100.0}))
    finding = claims.majority(table)
    assert finding.value == pytest.approx(4 / 7)
    assert finding.low < 0.5
    assert finding.verdict == "partly"

    far = pl.col("deterministic") * (1 + 9 * pl.col("seed") * (pl.col("method") == "pg"))
    table = runs({"hopper:hop": GOOD | {"pg": 20.0}}).with_columns(deterministic=far)
    finding = claims.pg_hopper(table)
    assert finding.value < claims.FAILS < finding.high
    assert finding.verdict == "partly"


@pytest.mark.parametrize(
    ("end", "verdict"),
    [(760.0, "reproduced"), (720.0, "not reproduced"), (600.0, "not reproduced")],
)
def test_an_improvement_is_more_than_a_match(end, verdict):
    assert claims.acrobot(runs({"acrobot:swingup": GOOD | {"dg": end}})).verdict == verdict


def test_a_sentence_on_one_task_needs_every_method():
    table = runs({"acrobot:swingup": {"dg": 900.0, "pg": 5.0}})
    with pytest.raises(NotMeasuredError, match="it needs runs of mpo, ppo too"):
        claims.acrobot(table)


def test_one_seed_decides_nothing():
    table = runs({"acrobot:swingup": GOOD, "hopper:hop": GOOD}, seeds=1)
    for check in (claims.acrobot, claims.pg_hopper):
        with pytest.raises(NotMeasuredError, match=r"2 seeds .* are needed; so far DG 8\d\d"):
            check(table)


def test_what_the_simulator_spoiled_is_told_of():
    table = runs({"cheetah:run": GOOD}, dropped=0)
    assert "NaN" not in scores.extent(table)
    assert "steps, 160 episodes with NaN left out" in scores.extent(table.with_columns(dropped=1))


def test_a_mean_over_tasks_is_of_the_same_tasks_for_every_seed():
    table = pl.concat([runs({"cheetah:run": GOOD}), runs({"walker:walk": GOOD}, seeds=1)])
    assert scores.balanced(table)["seed"].unique().to_list() == [0]
    assert scores.balanced(table)["task"].n_unique() == 2
