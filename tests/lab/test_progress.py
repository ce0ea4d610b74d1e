"""How far a run is, cells under way included."""

import io
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from delightful.lab import cost, progress
from delightful.lab.budget import Aim, Budget
from delightful.lab.cells import Cell, Curves, Program
from delightful.lab.progress import Outlook, run_missing
from delightful.lab.runners import LocalRunner
from delightful.lab.store import Store


@dataclass(frozen=True)
class Config:
    method: str = "pg"
    name: int = 0


def run(_: Config, seeds: np.ndarray, folder: Path) -> Curves:
    """Half of its work, and then nothing until the half has been reported."""
    folder.mkdir(parents=True)
    (folder / "half").touch()
    assert told.wait(20)
    return {"step": np.array([1]), "value": np.ones((len(seeds), 1))}


def share(_: Config, __: np.ndarray, folder: Path) -> float:
    return 0.5 if (folder / "half").exists() else 0.0


def all_of_it(_: Config, __: np.ndarray, ___: Path) -> float:
    return 1.0


told = threading.Event()
PROGRAM = Program(
    "test/halves", 1, f"{__name__}:run", 1, 0.0, lambda _: 100.0, share=f"{__name__}:share"
)
CELLS = [Cell(PROGRAM, Config(name=name), 0, 1) for name in range(4)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def halve(store: Store, cell: Cell) -> None:
    store.unfinished(cell).mkdir(parents=True)
    (store.unfinished(cell) / "half").touch()


@pytest.mark.usefixtures("clock")
def test_what_is_under_way_counts(tmp_path: Path) -> None:
    store = Store(tmp_path)
    outlook = Outlook(CELLS, store, 2, 200.0)
    assert (outlook.done(), outlook.count, outlook.left()) == (0.0, "0/4", "about 3 min left")
    halve(store, CELLS[0])
    assert outlook.done() == 1 / 8
    outlook.finished.add(CELLS[0].id)
    assert (outlook.done(), outlook.count) == (1 / 4, "1/4")
    outlook.finished |= {cell.id for cell in CELLS}
    assert (outlook.done(), outlook.left()) == (1.0, "about 0 s left")


@pytest.mark.parametrize(("before", "left"), [(False, "9 min"), (True, "11 min")])
def test_an_estimate_that_was_wrong_loses_its_weight(
    tmp_path: Path, clock: list[float], before: bool, left: str
) -> None:
    """200 s were expected, but two of the four cells take 1,000."""
    store = Store(tmp_path)
    if before:
        halve(store, CELLS[0])
    outlook = Outlook(CELLS, store, 2, 200.0)
    clock[0] = 1000.0
    outlook.finished |= {cell.id for cell in CELLS[:2]}
    assert outlook.left() == f"about {left} left"


NEARLY = replace(PROGRAM, share=f"{__name__}:nearly")
UNDER_WAY = [Cell(NEARLY, Config(name=name), 0, 1) for name in range(2)]


def nearly(_: Config, __: np.ndarray, folder: Path) -> float:
    """What a file says, or 98%."""
    file = folder / "share"
    return float(file.read_text()) if file.exists() else 0.98


def test_after_a_resume_the_time_left_follows_the_speed_of_this_run(
    tmp_path: Path, clock: list[float]
) -> None:
    """98% were done before; the rest, 4 s by the estimate, takes 100."""
    store = Store(tmp_path)
    outlook = Outlook(UNDER_WAY, store, 1, 4.0)
    assert (outlook.done(), outlook.left()) == (0.98, "about 4 s left")
    clock[0] = 50.0
    for cell in UNDER_WAY:  # half of the rest
        store.unfinished(cell).mkdir(parents=True)
        (store.unfinished(cell) / "share").write_text("0.99")
    assert outlook.left() == "about 26 s left"  # (0.5 · 4 + 50) / (0.5 + 0.5) · 0.5
    clock[0] = 75.0
    outlook.finished.add(UNDER_WAY[0].id)
    assert outlook.left() == "about 15 s left"  # (0.5 · 4 + 75) / (0.5 + 0.75) · 0.25


def test_cells_that_were_finished_before_are_no_part_of_the_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    class Seen(Outlook):
        def __init__(self, cells: list[Cell], *rest: object) -> None:
            super().__init__(cells, *rest)
            made.append([cell.id for cell in cells])

    monkeypatch.setattr(progress, "Outlook", Seen)
    told.set()
    run_missing(CELLS[:3], Store(tmp_path), 1)
    run_missing(CELLS, Store(tmp_path), 1)
    assert made == [[cell.id for cell in CELLS[:3]], [CELLS[3].id]]


def test_what_an_earlier_run_left_costs_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    whole, _ = cost.estimate(CELLS, [], store, 1)
    for cell in CELLS:
        halve(store, cell)
    half, _ = cost.estimate(CELLS, [], store, 1)
    assert half < 0.75 * whole


def test_a_long_cell_is_reported_before_it_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "BETWEEN_LINES", 0.05)
    real = progress.Console.print

    def printed(console: progress.Console, text: str) -> None:
        real(console, text)
        if "50%" in text:
            told.set()

    monkeypatch.setattr(progress.Console, "print", printed)
    told.clear()
    run_missing(CELLS[:1], Store(tmp_path), 1)
    said = capsys.readouterr().err
    assert "50%, 0/1 cells, about" in said
    assert said.startswith("1 cell to run, 0 done already")
    assert "1 cell in " in said


@pytest.mark.usefixtures("clock")
def test_cells_that_lack_nothing_but_their_end_take_no_time(tmp_path: Path) -> None:
    program = replace(PROGRAM, share=f"{__name__}:all_of_it")
    outlook = Outlook([replace(CELLS[0], program=program)], Store(tmp_path), 2, 0.0)
    assert (outlook.done(), outlook.left()) == (1.0, "about 0 s left")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("10m", "40% of the budget spent, 1 cell finished, 6 min of 10 min left to spend, all"),
        ("none", "25%, 1/4 cells, about 5 min left; all"),
    ],
)
def test_within_a_budget_progress_is_what_is_spent_of_it(
    tmp_path: Path, clock: list[float], text: str, line: str
) -> None:
    """How much all open claims could need says nothing about a run that ends before."""
    budget, outlook = Budget(text), Outlook(CELLS, Store(tmp_path), 2, 200.0)
    budget.decided = "all"
    clock[0] = 0.4 * (600 - 30)  # the last report has its half minute
    outlook.finished.add(CELLS[0].id)
    budget.finished += 1
    console = progress.Console(file=io.StringIO())
    with progress._progress_bar(outlook, console, budget, LocalRunner(2)) as update:
        assert update() == line


def test_a_budget_says_when_its_first_aim_is_reached_if_that_is_within_it(
    tmp_path: Path, clock: list[float]
) -> None:
    budget, outlook = Budget("10m"), Outlook(CELLS, Store(tmp_path), 2, 200.0)
    budget.aims = [Aim("the figures", CELLS, whole=False)]
    clock[0] = 100.0
    outlook.finished |= {cell.id for cell in CELLS[:2]}
    console = progress.Console(file=io.StringIO())
    with progress._progress_bar(outlook, console, budget, LocalRunner(2)) as update:
        assert "0 cells finished, the figures in about 2 min, 8 min of 10 min" in update()
        clock[0] = 560.0
        assert "the figures after this budget, 10 s of 10 min" in update()


def test_a_budget_says_when_there_are_enough_seeds_for_the_next_open_claim(
    tmp_path: Path, clock: list[float]
) -> None:
    budget, outlook = Budget("10m"), Outlook(CELLS, Store(tmp_path), 2, 200.0)
    names = ("one", "two", "three")
    budget.aims = [
        Aim(f"enough seeds for {name}", cells)
        for name, cells in zip(names, (CELLS[:2], CELLS[1:3], CELLS[3:]), strict=True)
    ]
    console = progress.Console(file=io.StringIO())
    with progress._progress_bar(outlook, console, budget, LocalRunner(2)) as update:
        assert "enough seeds for one in about 2 min, " in update()
        clock[0] = 100.0
        outlook.finished |= {cell.id for cell in CELLS[:2]}
        assert "enough seeds for two in about 2 min, " in update()  # on one of two processes
        outlook.skip(CELLS[2])  # it cannot be decided within this budget
        assert "enough seeds for three in about 2 min, 8 min of" in update()
        outlook.finished.add(CELLS[3].id)
        assert "enough seeds" not in update()


@pytest.mark.parametrize(("text", "of_all"), [("10m", False), ("none", True)])
def test_a_run_within_a_budget_speaks_of_no_total(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, of_all: bool
) -> None:
    told.set()
    budget = Budget(text)
    assert run_missing(CELLS, Store(tmp_path), 1, budget) == budget.finished == 4
    first = capsys.readouterr().err.splitlines()[0]
    assert ("4 cells to run" in first) == of_all
    assert ("running on 1 processes, 0 cells done already; 9 min of" in first) != of_all
