"""What a run would cost: estimates, schedules with known ends, and what --dry-run prints."""

from dataclasses import replace
from pathlib import Path

import pytest

from delightful.cli.main import main
from delightful.lab.cells import Cell
from delightful.lab.cost import Speed, forecast, guess, makespan
from delightful.lab.store import Store
from delightful.paper.bandit.config import TRAIN, BanditConfig

PROGRAM = replace(TRAIN, start=10.0, seconds=lambda _: 1.0)
CONFIG = BanditConfig()


def cell(config: BanditConfig, first_seed: int = 0) -> Cell:
    return Cell(PROGRAM, config, first_seed, 2)


@pytest.fixture
def speed(tmp_path: Path, monkeypatch) -> Speed:
    monkeypatch.setattr("delightful.lab.cost._speed_factor", lambda: 1.0)
    return Speed([], Store(tmp_path))


def test_a_cell_alone_is_compiled(speed: Speed) -> None:
    assert speed.seconds(cell(CONFIG)) == guess(cell(CONFIG)) == 12.0


def test_cells_that_differ_in_floats_and_seeds_share_a_compiled_program(speed: Speed) -> None:
    others = [cell(CONFIG, 2), cell(replace(CONFIG, step_size=0.05))]
    assert speed.total([cell(CONFIG), *others]) == 10.0 + 3 * 2.0
    assert speed.total([cell(CONFIG)]) == 12.0  # as before: nothing was run


def test_cells_of_other_shapes_do_not(speed: Speed) -> None:
    other = cell(replace(CONFIG, method="pg" if CONFIG.method == "dg" else "dg"))
    assert speed.total([cell(CONFIG), other]) == 2 * 12.0


def test_stored_cells_tell_how_fast_this_machine_is(tmp_path: Path, monkeypatch) -> None:
    store, done = Store(tmp_path), [cell(CONFIG), cell(CONFIG, 2)]
    monkeypatch.setattr(store, "entry", lambda c: {"seconds": 36.0 if c is done[0] else 6.0})
    assert Speed(done, store).measured == {}  # they were copied into this store
    for one in done:
        store.log("cell", id=one.id, cell=str(one), seconds=1.0)
    speed = Speed(done, store)  # 42 s for what takes 14 s on the reference machine
    assert speed.measured == {PROGRAM.name: pytest.approx(3.0)}
    assert speed.seconds(cell(CONFIG, 4)) == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("jobs", "workers", "end"),
    [
        ([3, 1, 2], 1, 6),
        ([3, 1, 2], 2, 3),
        ([3, 1, 2], 512, 3),
        ([5, 5, 4, 4, 3, 3, 3], 3, 11),  # the best schedule ends at 9: at most 4/3 − 1/9 times that
        ([], 4, 0),
    ],
)
def test_the_longest_job_goes_to_the_worker_that_is_free_first(
    jobs: list[float], workers: int, end: float
) -> None:
    assert makespan(jobs, workers) == end


@pytest.mark.parametrize("command", ["run bandit", "figure bandit", "reproduce bandit"])
def test_a_dry_run_prints_the_cost_and_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    store = tmp_path / "store"
    options = f"--scale paper --dry-run --workers 512 --store {store}"
    assert main([*command.split(), *options.split()]) == 0
    first, work, clock, longest = capsys.readouterr().out.splitlines()
    assert " cells to run, 0 done already (from a reference machine" in first
    assert work.endswith(" core-hours")
    assert "on 512 workers" in clock
    assert longest.startswith("  longest cell: bandit/")
    assert not store.exists()


def test_the_longest_cell_is_named_with_what_tells_it_from_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delightful.lab.cost._speed_factor", lambda: 1.0)
    by_steps = replace(PROGRAM, seconds=lambda config: float(config.steps))
    long = replace(CONFIG, step_size=0.5, steps=2 * CONFIG.steps)
    cells = [Cell(by_steps, config, 0, 2) for config in (CONFIG, long)]
    (said,) = (x for x in forecast(cells, Store(tmp_path), 2).splitlines() if "longest" in x)
    assert f"seeds 0–1 (step_size=0.5, steps={long.steps}), about " in said
    (said,) = (x for x in forecast(cells[:1], Store(tmp_path), 2).splitlines() if "longest" in x)
    assert "seeds 0–1, about " in said


def test_a_dry_run_of_a_budget_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "--dry-run", "--store", str(tmp_path)]) == 2
    assert "--dry-run needs --scale or --seeds" in capsys.readouterr().err


def test_a_dry_run_knows_what_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "bandit/alignment", "--scale", "smoke", "--store", str(tmp_path)]
    assert main([*run, "--workers", "1"]) == 0
    assert main([*run, "--dry-run"]) == 0
    assert capsys.readouterr().out == "24 cells done already; nothing to run.\n"
