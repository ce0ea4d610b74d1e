"""Agents that are not ours: their scores, and ours beside them."""

import polars as pl
import pytest
from made_up import GOOD, runs

from delightful.lab import style
from delightful.lab.cells import Plan
from delightful.lab.errors import LabError
from delightful.lab.verdicts import NotMeasuredError
from delightful.paper.control import public_scores, scores, third_party
from delightful.paper.control.claims.third_party import tuned
from delightful.paper.control.figures import third_party as drawn
from delightful.paper.control.sweep import OF_FRESH

TWO = ("cheetah:run", "ball_in_cup:catch")
BESIDE = sorted({cell.config.task for cell in OF_FRESH.external.cells(Plan("quick"))})


def beside_sac(tasks, every=1, end=300.0, apart=0.0):
    """DG at 900 and SAC at `end`, its seeds apart by so much of it."""
    ours = runs(dict.fromkeys(tasks, GOOD), seeds=3)
    theirs = runs({task: {"x": end} for task in tasks}, seeds=3).drop("method")
    scattered = pl.col("deterministic") * (1 + apart * (pl.col("seed") - 1))
    theirs = theirs.with_columns(deterministic=scattered)
    theirs = theirs.with_columns(agent=pl.lit("SAC (SBX)"), every=pl.lit(every))
    theirs = theirs.with_columns(role=pl.lit("third-party"))
    return pl.concat([ours, theirs], how="diagonal")


@pytest.fixture
def public(tmp_path, monkeypatch):
    """A file of public scores."""
    path = tmp_path / "scores.csv"
    path.write_text(
        "source,algo,task,action_repeat,env_steps,mean\n"
        "a,MPO,cheetah-run,1,500,600\na,MPO,cheetah-run,1,1200,950\na,MPO,cup-catch,1,1000,990\n"
        "b,SAC,cheetah-run,2,1000,999\nb,SAC,cheetah-jump,1,1000,999\nc,D4PG,cheetah-run,1,9000,1\n"
    )
    monkeypatch.setenv(public_scores.VARIABLE, str(path))
    return path


def test_others_are_compared_at_the_step_nearest_to_ours(public):
    found = public_scores.read(public)
    assert set(found["agent"]) == {"a MPO", "c D4PG"}  # others repeat frames, or have another task
    table = beside_sac(TWO)
    runs_, others = third_party.with_regret(third_party.dg_and_baselines(table))
    assert set(others["agent"]) == {"a MPO"}  # 9,000 steps are not near 1,000
    assert sorted(others["score"].to_list()) == [950.0, 990.0]
    assert set(runs_["best"].to_list()) == {950.0, 990.0}
    with style.context():
        for draw in (drawn.tuned, drawn.tuned_tasks):
            assert "a MPO" in set(draw(table).numbers["agent"])


def test_dg_with_other_options_is_neither_dg_nor_a_baseline():
    hot = runs({task: {"dg:temperature=2.0": 990.0} for task in TWO}, seeds=3)
    table = pl.concat([hot, beside_sac(TWO)], how="diagonal")
    assert set(third_party.dg_and_baselines(table)["method"]) == {"dg", None}
    without = table.filter(pl.col("method").ne_missing("dg"))
    with pytest.raises(NotMeasuredError, match="it needs runs of dg and"):
        third_party.dg_and_baselines(without)


def test_there_is_room_for_many_agents_of_others(public):
    """With too little room for their names, Matplotlib warns, and panels vanish."""
    rows = [f"{k},MPO,{task},1,1000,{50 * k}" for task in TWO for k in range(18)]
    public.write_text("\n".join(["source,algo,task,action_repeat,env_steps,mean", *rows]))
    with style.context():
        for draw in (drawn.tuned, drawn.tuned_tasks):
            drawing = draw(beside_sac(TWO))
            style.images(drawing.figure)
            (axis,) = drawing.figure.axes
            assert len(axis.get_legend().get_texts()) == 20
            assert axis.get_position().height > 0.5


def publish(path, **scores):
    """Scores of agents on every task, MPO=400 for one; and one that the sentence leaves out."""
    rows = [f"a,{name},{task},1,1000,{score}" for name, score in scores.items() for task in BESIDE]
    rows += [f"a,DREAMERV3,{task},1,1000,990" for task in BESIDE]
    path.write_text("\n".join(["source,algo,task,action_repeat,env_steps,mean", *rows]))


@pytest.mark.parametrize(
    ("sac", "mpo", "expected"),
    [
        (300, 400, "reproduced"),
        (300, 990, "not reproduced"),  # DG is behind a tuned MPO, and ahead of SAC
        (990, 400, "not reproduced"),
        (990, 990, "not reproduced"),
    ],
)
def test_tuned_agents_are_beaten_if_sac_and_a_public_mpo_are(public, sac, mpo, expected, verdict):
    publish(public, MPO=mpo)
    table = beside_sac(BESIDE, end=sac)
    assert verdict("tuned", table) == expected
    both, sacs = tuned(table).quantities
    assert list(both) == ["a MPO on 7 of 7 tasks, at the end"]
    assert list(sacs) == ["SAC (SBX), over training"]


@pytest.mark.parametrize(("mpo", "expected"), [(400, "inconclusive"), (990, "not reproduced")])
def test_where_sac_is_about_as_good_an_mpo_can_still_refute(public, mpo, expected, verdict):
    publish(public, MPO=mpo)
    assert verdict("tuned", beside_sac(BESIDE, end=900.0, apart=0.02)) == expected


def test_sac_with_fewer_updates_is_not_tuned_and_can_only_refute(public, verdict):
    publish(public, MPO=400)
    with pytest.raises(NotMeasuredError, match=r"scores of SAC .* one update per 4 steps"):
        tuned(beside_sac(BESIDE, every=4))
    publish(public, MPO=400, SAC=400)
    assert verdict("tuned", beside_sac(BESIDE, every=4)) == "reproduced"
    assert verdict("tuned", beside_sac(BESIDE, every=4, end=990.0)) == "not reproduced"


def test_public_scores_on_some_of_the_tasks_are_compared_there(public, verdict):
    with pytest.raises(NotMeasuredError, match="scores of MPO on all tasks"):
        tuned(beside_sac(BESIDE))
    publish(public, MPO=400)
    with public.open("a") as file:
        file.write("\nb,MPO,cheetah-run,1,1000,950\n")
    found = tuned(beside_sac(BESIDE)).quantities[0]
    lead = found["b MPO on 1 of 7 tasks, at the end"].estimate(0.99)
    ends = scores.final(runs({"cheetah:run": GOOD}, seeds=3)).filter(pl.col("method") == "dg")
    assert lead.value == pytest.approx(ends["final"].mean() - 950)
    assert verdict("tuned", beside_sac(BESIDE)) == "not reproduced"


def test_without_public_scores_nothing_is_decided():
    with pytest.raises(NotMeasuredError, match=r"of MPO on all tasks; so far on 7 .* DG \d+, SAC"):
        tuned(beside_sac(BESIDE))
    with pytest.raises(NotMeasuredError, match="scores of MPO and SAC"):
        tuned(beside_sac(BESIDE, every=4))
    with pytest.raises(NotMeasuredError, match="at least 6 tasks are needed"):
        tuned(beside_sac(TWO))
    with pytest.raises(NotMeasuredError, match="SAC"):
        tuned(runs({"cheetah:run": GOOD}))


def test_a_file_of_scores_that_cannot_be_used_is_named(tmp_path):
    with pytest.raises(LabError, match="no such"):
        public_scores.read(tmp_path / "no such file.csv")
    path = tmp_path / "words.csv"
    path.write_text("algo,task,env_steps,mean\nMPO,cheetah-run,1M,900\n")
    with pytest.raises(LabError, match=r"words.csv.*1M"):
        public_scores.read(path)
    path = tmp_path / "other.csv"
    path.write_text("algo,task\nMPO,cheetah-run\n")
    with pytest.raises(LabError, match="no column env_steps and no mean"):
        public_scores.read(path)


def test_a_baseline_is_drawn_beside_public_scores_of_its_steps(tmp_path, monkeypatch):
    table = runs({"cheetah:run": {"mpo": 3.0}, "walker:run": {"mpo": 2.0}})
    end = int(table["steps"].max())
    path = tmp_path / "scores.csv"
    rows = [
        f"MPO,cheetah-run,{end},645",
        f"MPO,cheetah-run,{2 * end},700",
        f"PPO,walker-run,{end},1",
    ]
    path.write_text("\n".join(["algo,task,env_steps,mean", *rows]))
    with style.context():
        alone = drawn.baseline(table).numbers
        monkeypatch.setenv("DELIGHTFUL_SCORES", str(path))
        beside = drawn.baseline(table)
    assert alone["final"].drop_nulls().to_list() == scores.final(table)["final"].to_list()
    assert beside.numbers["score"].drop_nulls().to_list() == [645.0]
    assert [len(axis.lines) for axis in beside.figure.axes] == [2, 1]
