"""Which scale is shown if none is asked for, when long runs were stopped on the way."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from delightful.lab.budget import cells_of, next_aims
from delightful.lab.cells import Plan, Point, Sweep
from delightful.lab.decisions import decide
from delightful.lab.errors import LabError
from delightful.lab.experiment import Claim, Reading
from delightful.lab.quantities import Exact, Mean
from delightful.lab.rendering import outlook, runs
from delightful.lab.selection import from_paper, plan_for
from delightful.lab.store import Store
from delightful.lab.verdicts import (
    Measurement,
    NotMeasuredError,
    Rule,
    TooFewSeedsError,
    above,
    measured,
)
from delightful.paper.bandit.config import ALIGN, AlignmentConfig
from delightful.paper.control.sweep import OF_FRESH
from delightful.paper.mnist.sweep import BATCH as BATCHES
from delightful.paper.tokens.sweep import STALE

SEEDS = {"smoke": 2, "quick": 6, "paper": 20}
PROGRAM = replace(ALIGN, block=3)


def points(scale: str) -> list[Point]:
    batch = {"smoke": 1, "quick": 10, "paper": 10}[scale]
    return [Point(AlignmentConfig(method=method, batch=batch)) for method in ("pg", "dg")]


def apart(scale: str) -> list[Point]:
    error = 0.3 if scale == "quick" else 0.5
    return [Point(replace(point.config, error=error)) for point in points(scale)]


SHARED = Sweep("shared", PROGRAM, points, SEEDS)  # quick runs count towards the paper's
APART = Sweep("apart", PROGRAM, apart, SEEDS)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path)
    made.prepare()
    return made


def ran(store: Store, sweep: Sweep, scale: str, seeds: int, *methods: str) -> None:
    """Store those seeds of every config, or of those `methods` alone."""
    for cell in sweep.cells(Plan(scale, seeds, methods)):
        zeros = np.zeros((cell.seeds, 1))
        store.write(cell, {"step": np.zeros(1), "misalignment": zeros}, 0.0)


def shown(store: Store, sweep: Sweep, plan: Plan | None = None) -> Plan:
    return plan_for(sweep, store, plan or Plan("quick"), None)


@pytest.mark.parametrize("seeds", [9, 10, 11])
def test_a_run_that_was_stopped_is_shown_with_its_whole_blocks(store: Store, seeds: int) -> None:
    ran(store, SHARED, "paper", seeds)  # in blocks of three: 9 and a rest
    assert shown(store, SHARED) == Plan("paper", seeds=9)
    assert store.table(SHARED.cells(Plan("paper", seeds=9))) is not None


def test_it_is_shown_with_the_seeds_that_every_config_has(store: Store) -> None:
    ran(store, SHARED, "paper", 15, "pg")
    assert shown(store, SHARED) == Plan("quick")  # nothing to show: the plan as it was
    ran(store, SHARED, "paper", 12, "dg")
    assert shown(store, SHARED) == Plan("paper", seeds=12)


def test_seeds_after_a_gap_do_not_count(store: Store) -> None:
    ran(store, SHARED, "paper", 15)
    (store.cells / f"{SHARED.cells(Plan('paper'))[3].id}.json").unlink()  # pg's seeds 9 to 11
    assert shown(store, SHARED) == Plan("paper", seeds=9)


def test_it_must_have_the_seeds_of_the_next_smaller_scale_and_more_to_show(store: Store) -> None:
    ran(store, APART, "smoke", 2)
    ran(store, APART, "paper", 3)
    assert shown(store, APART) == Plan("smoke")
    ran(store, APART, "paper", 6)
    assert shown(store, APART) == Plan("paper", seeds=6)
    assert shown(store, SHARED) == Plan("quick")  # its runs of the quick scale are the paper's


def test_a_sweep_without_a_brief_scale_is_shown_at_the_quick_one(store: Store) -> None:
    assert plan_for(SHARED, store, Plan("brief"), "brief") == Plan("quick")


def test_a_complete_scale_needs_no_number_of_seeds(store: Store) -> None:
    ran(store, SHARED, "smoke", 2)  # not a whole block
    assert shown(store, SHARED) == Plan("smoke")
    ran(store, SHARED, "quick", 6)
    assert shown(store, SHARED) == Plan("quick")
    ran(store, SHARED, "paper", 20)
    assert shown(store, SHARED) == Plan("paper")


@pytest.mark.parametrize("scale", ["smoke", "quick"])
def test_more_seeds_than_a_scale_asks_for_are_used(store: Store, scale: str) -> None:
    ran(store, APART, scale, 9)
    assert shown(store, APART) == Plan(scale, seeds=9)


def test_seeds_that_were_asked_for_are_left_alone(store: Store) -> None:
    ran(store, APART, "quick", 6)
    ran(store, APART, "paper", 12)
    assert shown(store, APART, Plan("quick", seeds=3)) == Plan("paper", seeds=3)
    assert shown(store, APART, Plan("quick", seeds=7)) == Plan("quick", seeds=7)  # none has just 7


def test_a_scale_that_was_asked_for_is_left_alone(store: Store) -> None:
    ran(store, SHARED, "paper", 12)
    for plan in (Plan("smoke"), Plan("quick"), Plan("paper"), Plan("paper", seeds=3)):
        assert plan_for(SHARED, store, plan, plan.scale) == plan


def test_what_else_was_asked_for_is_kept(store: Store) -> None:
    ran(store, SHARED, "paper", 12, "pg")
    plan = Plan("quick", methods=("pg",), changes={"baseline": "0.5"})
    assert shown(store, SHARED, plan) == replace(plan, scale="paper", seeds=12)
    assert plan_for(None, store, plan, None) == plan


def test_a_decision_on_a_stopped_run_says_how_many_seeds_it_has(store: Store) -> None:
    rule, readings = Rule(above(0, "rows")), (Reading(sweep=SHARED),)
    claim = Claim("a/claim", "", "", "", rule, lambda t: measured(Exact(len(t))), readings)
    ran(store, SHARED, "paper", 13)
    (decision,) = decide(claim, store, Plan("quick"))
    assert (decision.row()["value"], decision.seeds) == (20, 10)  # 20 in the paper: looks at 5, 10
    run = f"delightful run shared --scale paper --seeds 12 --store {store.path} &&"
    assert decision.command.startswith(run)


def test_claims_ask_for_enough_seeds_of_a_larger_scale(store: Store) -> None:
    ran(store, APART, "smoke", 12)
    ran(store, APART, "quick", 9)
    ran(store, APART, "paper", 6)
    for least, shown in ((6, Plan("paper", seeds=6)), (7, Plan("quick", seeds=9))):
        assert plan_for(APART, store, Plan("quick"), None, least=least) == shown
    # Neither has ten: the larger is shown, and never a smoke test in its place.
    assert plan_for(APART, store, Plan("quick"), None, least=10) == Plan("paper", seeds=6)


def test_what_a_smaller_scale_cannot_measure_names_the_papers_and_its_cost(store: Store) -> None:
    def check(table):
        if table["error"][0] == 0.3:
            raise NotMeasuredError("it needs an error of 0.5")
        return measured(Exact(1.0))

    claim = Claim("a/claim", "", "", "", Rule(above(0, "x")), check, (Reading(sweep=APART),))
    ran(store, APART, "quick", 6)
    (decision,) = decide(claim, store, Plan("quick"))
    assert (decision.verdict, decision.needed) == ("not run", 6)  # looks at 5, in blocks of 3
    assert decision.seconds > 0
    assert "--scale paper --seeds 6" in decision.command
    assert "6 seeds at paper scale would measure it" in outlook(decision)
    assert cells_of(next_aims([decision], store, lambda *_: True)) == APART.cells(Plan("paper", 6))
    (asked,) = decide(claim, store, Plan("quick"), "quick")
    assert (asked.needed, asked.plan.scale) == (None, "quick")


def tried(scale: str) -> list[Point]:
    rates = (0.3,) if scale == "quick" else (0.3, 0.5)
    return [Point(AlignmentConfig(error=error)) for error in rates]


def test_some_settings_decide_a_sentence_on_every_setting_only_if_the_others_cannot_turn_it(
    store: Store,
) -> None:
    grid, seen = replace(SHARED, name="grid", points=tried), 1.0
    ran(store, grid, "quick", 6)
    rule = Rule(above(0, "x", grid=True))

    def check(_):
        return measured(Exact(seen))

    claim = Claim("a/claim", "", "", "", rule, check, (Reading(sweep=grid),))
    (decision,) = decide(claim, store, Plan("quick"))
    assert decision.verdict == "not run"
    assert "1 of the paper's 2 configs was run, and the others could turn" in decision.note
    seen = -1.0
    (decision,) = decide(claim, store, Plan("quick"))
    assert decision.verdict == "not reproduced"
    ran(store, grid, "paper", 6)
    seen = 1.0
    (decision,) = decide(claim, store, Plan("quick"))
    assert decision.verdict == "reproduced"


def spread(mean: float) -> Mean:
    return Mean(np.arange(-2.0, 3.0) + mean)  # of five seeds, with a deviation of 1.6


@pytest.mark.parametrize(
    ("mean", "scale", "words"),
    [
        (1.5, "paper", "6 seeds at paper scale would allow a first verdict"),  # the rest may fail
        (-1.5, "quick", "16 more seeds, 21 in all, would probably decide it"),  # it is refuted
    ],
)
def test_seeds_that_would_only_get_a_verdict_refused_are_not_asked_for(
    store: Store, mean: float, scale: str, words: str
) -> None:
    """On every setting of a grid, of which the quick scale has one of two."""
    grid, rule = replace(SHARED, name="grid", points=tried), Rule(above(0, "x", grid=True))
    ran(store, grid, "quick", 6)
    claim = Claim(
        "a/claim", "", "", "", rule, lambda _: measured(spread(mean)), (Reading(sweep=grid),)
    )
    (decision,) = decide(claim, store, Plan("quick"))
    assert (decision.verdict, decision.plan.scale) == ("inconclusive", "quick")
    assert words in outlook(decision)
    assert f"--scale {scale}" in decision.next_command
    assert "--scale quick" in decision.command
    ahead = replace(Plan(scale), seeds=decision.needed)
    missing = [cell for cell in grid.cells(ahead) if store.state(cell) != "done"]
    assert cells_of(next_aims([decision], store, lambda *_: True)) == missing
    row = decision.row()
    found = (row["seeds_needed"], row["first_verdict_seeds"])
    assert found == ((None, 6) if scale == "paper" else (21, None))


def test_of_changed_runs_it_is_said_that_seeds_alone_decide_nothing(store: Store) -> None:
    grid, rule = replace(SHARED, name="grid", points=apart), Rule(above(0, "x", grid=True))
    ran(store, grid, "quick", 6, "dg")
    claim = Claim(
        "a/claim", "", "", "", rule, lambda _: measured(spread(1.5)), (Reading(sweep=grid),)
    )
    (decision,) = decide(claim, store, Plan("quick", methods=("dg",)))
    assert (decision.verdict, decision.needed) == ("inconclusive", None)
    assert outlook(decision) == (
        "seeds alone would not decide it: none of the paper's 1 config was run, "
        "and they could turn the verdict"
    )


def test_damaged_cells_are_run_again_by_the_command_that_is_named(store: Store) -> None:
    ran(store, SHARED, "paper", 12)
    claim = Claim("a/claim", "", "", "", Rule(above(0, "x")), None, (Reading(sweep=SHARED),))
    last = SHARED.cells(Plan("paper", 12))[3]
    (store.cells / f"{last.id}.parquet").write_bytes(b"spoiled")
    (decision,) = decide(claim, Store(store.path), Plan("quick"))
    assert decision.verdict == "not run"
    again = f"delightful run shared --scale paper --seeds 12 --store {store.path}"
    assert f"`{again}` runs it again" in decision.note
    assert decision.row()["damaged"]
    assert decision.row()["core_seconds_needed"] is not None
    assert cells_of(next_aims([decision], Store(store.path), lambda *_: True)) == [last]


def test_runs_of_another_store_are_said_to_be(store: Store, tmp_path: Path) -> None:
    ran(store, SHARED, "paper", 12)
    rule, readings = Rule(above(0, "rows")), (Reading(sweep=SHARED),)
    claim = Claim("a/claim", "", "", "", rule, lambda t: measured(Exact(len(t))), readings)
    (decision,) = decide(claim, Store(tmp_path / "own", [store.path]), Plan("quick"))
    assert decision.stored == (str(store.path),)
    assert f"stored in {store.path}" in runs(decision)
    assert decision.command.count(f"--stored {store.path}") == 2


def test_it_is_said_how_runs_differ_from_the_papers() -> None:
    assert from_paper(SHARED, Plan("paper")) == ""
    assert from_paper(SHARED, Plan("quick")) == ""  # the same configs, fewer seeds
    assert from_paper(SHARED, Plan("quick", methods=("pg",))) == "1 of the paper's 2 configs"
    assert from_paper(APART, Plan("quick")) == "runs with error 0.3 instead of 0.5"
    fewer = Plan("paper", changes={"batch": "3"})
    assert from_paper(SHARED, fewer) == "runs with batch 3 instead of 10"
    steps = "runs of 300,000 steps instead of 10,000,000"  # and fewer records, which is no work
    assert from_paper(OF_FRESH.tasks, Plan("quick")) == steps
    assert from_paper(BATCHES, Plan("quick")) == "some runs of 2,000 steps instead of 10,000"
    assert from_paper(STALE.scaling, Plan("quick")) == (
        "runs of 400 steps instead of 10,000, without length 40 and vocabulary 4, 16, 64"
    )


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        (2, ""),
        (3, "3 of 6 seeds are stored"),
        (4, "3 of 6 seeds are stored"),  # in whole blocks
        (6, ""),
    ],
)
def test_it_is_said_how_many_seeds_of_an_asked_scale_are_stored(
    store: Store, seeds: int, words: str
) -> None:
    ran(store, SHARED, "quick", seeds)
    claim = Claim("a/claim", "", "", "", Rule(above(0, "x")), _rows, (Reading(sweep=SHARED),))
    (decision,) = decide(claim, store, Plan("quick"), "quick")
    assert decision.note.startswith(words)
    assert (decision.verdict == "not run") == (seeds < 6)
    if words:  # and without the scale they are
        assert decision.note.endswith("; without --scale they are used")
        (free,) = decide(claim, store, Plan("quick"))
        assert (free.verdict, free.seeds) == ("reproduced", 3)


def _rows(table: pl.DataFrame) -> Measurement:
    return measured(Exact(len(table)))


@pytest.mark.parametrize("default", ["results", "runs of mine"])
def test_commands_name_the_store_unless_it_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, default: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if default == "results":
        monkeypatch.delenv("DELIGHTFUL_STORE", raising=False)
    else:
        monkeypatch.setenv("DELIGHTFUL_STORE", default)
    claim = Claim("a/claim", "", "", "", Rule(above(0, "x")), _rows, (Reading(sweep=SHARED),))
    (here,) = decide(claim, Store(default), Plan("quick"))
    assert "--store" not in here.command
    (there,) = decide(claim, Store("my runs"), Plan("quick"))
    run, check = there.command.split(" && ")
    assert run == "delightful run shared --scale quick --store 'my runs'"
    assert check == "delightful claims a/claim --scale quick --store 'my runs'"


def test_where_some_configs_have_more_seeds_the_verdict_is_on_what_all_have(store: Store) -> None:
    part = replace(SHARED, in_part=True)

    def check(table):
        pg, dg = (table.filter(method=name)["seed"].n_unique() for name in ("pg", "dg"))
        if pg < dg:
            raise TooFewSeedsError("pg lacks seeds")
        return measured(Exact(pg))

    claim = Claim("a/claim", "", "", "", Rule(above(0, "rows")), check, (Reading(sweep=part),))
    ran(store, part, "paper", 12, "dg")
    ran(store, part, "paper", 6, "pg")
    (decision,) = decide(claim, store, Plan("quick"))
    assert (decision.verdict, decision.seeds) == ("reproduced", 5)
    assert "--seeds 5" in decision.command


def test_a_rule_that_asks_for_more_seeds_than_any_look_has_is_refused() -> None:
    rule = Rule(above(0, "x"), seeds=1000)
    with pytest.raises(LabError, match="a/claim can never be decided: its rule asks for 1000"):
        Claim("a/claim", "", "", "", rule, None, (Reading(sweep=SHARED),))
