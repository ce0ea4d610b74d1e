"""A budget of time: what is run within it, in which order, and what is decided with it."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from delightful.lab import budget as budgets
from delightful.lab.budget import Aim, Budget, cells_of, first_cells, first_stages, next_aims
from delightful.lab.cells import Cell, Plan, Point, Program, Sweep
from delightful.lab.decisions import decide_all
from delightful.lab.errors import LabError
from delightful.lab.experiment import ClaimBook, Drawing, Experiment, FigureBook
from delightful.lab.progress import run_missing
from delightful.lab.quantities import Mean
from delightful.lab.store import Store
from delightful.lab.verdicts import Measurement, above, looks, measured
from delightful.paper.bandit.config import BanditConfig

RAN: list[Cell] = []


def noise(config, seeds):
    """A metric whose mean over seeds is 0.2, with a deviation of 1."""
    values = [np.random.default_rng(seed).normal(0.2, 1.0) for seed in seeds]
    return {"step": np.array([config.steps]), "error": np.array(values)[:, None]}


def program(name: str, seconds: float, block: int = 2) -> Program:
    return Program(name, 1, f"{__name__}:noise", block, 0.0, lambda _: seconds)


def sweep(name: str, seconds: float, **seeds: int) -> Sweep:
    counts = {"smoke": 1, "quick": 4, "paper": 30} | seeds

    def points(scale: str) -> list[Point]:
        return [Point(BanditConfig(steps={"brief": 5}.get(scale, 7)))]

    return Sweep(f"test/{name}", program(name, seconds), points, counts)


DEAR, CHEAP, APPENDIX = sweep("dear", 50), sweep("cheap", 1, brief=2), sweep("appendix", 2)


def experiment() -> Experiment:
    figures, claims = FigureBook("test"), ClaimBook("test")

    def draw(_table) -> Drawing:
        """A figure."""
        raise AssertionError

    for one in (APPENDIX, DEAR, CHEAP):
        name = one.name.removeprefix("test/")
        figures.add(name, name, sweep=one, name=name, appendix=one is APPENDIX)(draw)

        def check(table) -> Measurement:
            """A sentence."""
            return measured(Mean(table["error"].to_numpy()))

        claims.add("Section 1", paper="> 0", sweep=one, name=name, rule=above(0, "error"))(check)
    return Experiment("test", "A test", "Section 1", (), (APPENDIX, DEAR, CHEAP), figures, claims)


def always(*_) -> bool:
    return True


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("none", math.inf)]
)
def test_a_budget_reads_as_people_write_it(text, seconds):
    assert Budget(text).seconds == seconds


@pytest.mark.parametrize("text", ["", "0m", "-5m", "10", "ten", "10 m", "1e9h", "infm", "nan"])
def test_a_budget_of_nothing_or_that_cannot_be_read_is_refused(text):
    with pytest.raises(LabError, match="--budget must be a time such as 90s"):
        Budget(text)


def needed(can_run: Callable[[Sweep, Plan], bool] = always) -> list[Cell]:
    """What the figures need, in the order in which it is run."""
    return first_cells(first_stages([experiment()], Plan(), can_run))


def test_the_main_text_comes_first_then_the_appendix_and_cheap_sweeps_before_dear_ones():
    cells = needed()
    names = [cell.program.name for cell in cells]
    firsts = list(dict.fromkeys(names))
    assert firsts == ["cheap", "dear", "appendix"]
    assert [cell.config.steps for cell in cells][:1] == [5]  # the brief scale of what has one
    main = [cell for cell in cells if cell.program.name != "appendix"]
    assert main[0].first_seed == 0
    assert needed(lambda sweep, _: sweep is CHEAP)[0] == cells[0]


def test_cells_that_would_pass_the_budget_are_not_started(store, monkeypatch):
    monkeypatch.setattr("delightful.lab.cost._speed_factor", lambda: 1.0)
    skipped: list[Cell] = []
    cells = needed()
    run = list(Budget("30s").affordable(cells, [], store, skipped.append))
    assert {cell.program.name for cell in run} == {"cheap", "appendix"}
    assert {cell.program.name for cell in skipped} == {"dear"}
    assert not list(Budget("1s").affordable([skipped[0]], [], store, skipped.append))


def test_a_sweep_is_started_only_if_first_seeds_of_all_its_configs_fit(store, monkeypatch):
    """Two configs of 60 s each on one core: of 90 s, one of them would decide nothing."""
    monkeypatch.setattr("delightful.lab.cost._speed_factor", lambda: 1.0)

    def two(_: str) -> list[Point]:
        return [Point(BanditConfig(steps=steps)) for steps in (5, 7)]

    long = Sweep("test/long", program("long", 30), two, {"smoke": 1, "quick": 4, "paper": 30})
    stages = [[Aim(one.name, one.cells(Plan())) for one in (long, CHEAP)]]
    cells = first_cells(stages)

    def started(text: str, slots: int, cells: list[Cell]) -> set[str]:
        budget, said, skipped = Budget(text), list[str](), list[Cell]()
        (budget.sweeps,) = stages
        run = list(budget.affordable(cells, [], store, skipped.append, slots, said.append))
        left_out = {cell.program.name for cell in skipped if cell not in run}
        assert said == [
            "left out, since their first seeds did not fit into what was left: "
            "test/long (about 2 min)"
        ] * ("long" in left_out)
        return {cell.program.name for cell in run}

    assert started("90s", 1, cells) == {"cheap"}
    assert started("90s", 2, cells) == {"long", "cheap"}
    assert started("10m", 1, cells) == {"long", "cheap"}
    store.prepare()
    store.write(cells[0], noise(cells[0].config, range(2)), 60.0)
    assert started("90s", 1, cells[1:]) == {"long", "cheap"}  # of what is left, all fit


def test_what_this_machine_has_shown_tells_what_fits(store, monkeypatch):
    monkeypatch.setattr("delightful.lab.cost._speed_factor", lambda: 1.0)
    cells = CHEAP.cells(Plan("quick"))
    store.prepare()
    store.write(cells[0], noise(cells[0].config, range(2)), 2000.0)  # a thousand times slower
    store.log("cell", id=cells[0].id)
    skipped: list[Cell] = []
    assert list(Budget("60s").affordable(cells[1:], cells[:1], store, skipped.append)) == []


def test_seeds_go_to_the_open_claims_the_cheapest_first(store):
    store.prepare()
    claims = experiment().claims
    for cell in (c for s in (DEAR, CHEAP) for c in s.cells(Plan("quick"))):
        seeds = range(cell.first_seed, cell.first_seed + cell.seeds)
        seconds = cell.program.seconds(cell.config) * cell.seeds
        store.write(cell, noise(cell.config, seeds), seconds)
    decisions = decide_all(claims, store, Plan(), None)
    assert {d.verdict for d in decisions} == {"inconclusive", "not run"}
    cells = cells_of(next_aims(decisions, store, always))
    names = list(dict.fromkeys(cell.program.name for cell in cells))
    assert names in (["cheap", "appendix", "dear"], [])  # that of the appendix is not run
    assert all(cell.first_seed >= 4 for cell in cells if cell.program.name != "appendix")
    assert all(cell.seeds == 2 for cell in cells)  # whole blocks, which later looks use too


def test_spending_goes_on_until_the_claim_is_decided(store):
    """Looks at doubling numbers of seeds decide a mean of 0.2 in the end, or run out of looks."""
    store.prepare()
    claims = [claim for claim in experiment().claims if claim.sweep is CHEAP]
    run_missing(CHEAP.cells(Plan("quick")), store, 1)
    seen = []
    for _ in looks(30):
        decisions = decide_all(claims, store, Plan(), None)
        seen.append(decisions[0].seeds)
        if not (cells := cells_of(next_aims(decisions, store, always))):
            break
        run_missing(cells, store, 1)
    assert seen == sorted(set(seen))
    assert set(seen) <= set(looks(30))


def test_progress_says_what_is_left_and_what_is_decided():
    budget = Budget("10m")
    budget.decided = "12 of 40 claims decided"
    assert str(budget) == "9 min of 10 min left to spend, 12 of 40 claims decided"
    assert not budget.spent
    assert not Budget("none").spent
    assert budgets.Budget("none").left == math.inf
