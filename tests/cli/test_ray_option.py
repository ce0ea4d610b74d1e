"""`--ray`: each command that runs cells gives them to the runner on Ray."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from delightful.cli import options
from delightful.cli.main import main
from delightful.lab.cells import Cell
from delightful.lab.runners import LocalRunner, Outcome, run_here
from delightful.lab.store import Store

ADDRESS = "10.0.0.1:6379"


class FakeRunner(LocalRunner):
    """Runs cells in this process, and remembers what it was given."""

    given: tuple[str | None, int | None] | None = None
    ran: list[Cell]
    most: int | None = None  # cells that it runs at all; the others it leaves

    def __init__(self, address: str | None, workers: int | None) -> None:
        super().__init__(1)
        FakeRunner.given, FakeRunner.ran = (address, workers), []

    def __enter__(self) -> "FakeRunner":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, cells: Iterable[Cell], store: Store) -> Iterator[tuple[Cell, Outcome]]:
        left = None if self.most is None else self.most - len(self.ran)
        for cell, outcome in run_here(itertools.islice(cells, left), store):
            self.ran.append(cell)
            yield cell, outcome


@pytest.mark.parametrize(
    ("command", "most", "written"),
    [
        ("run bandit/alignment --scale smoke", None, "cells"),
        ("figure bandit/alignment --scale smoke", None, "figures/bandit-alignment.png"),
        ("reproduce bandit --budget 1h", 2, "report/report.html"),
    ],
)
def test_every_command_gives_its_cells_to_ray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, most: int | None, written: str
) -> None:
    monkeypatch.setattr(options, "RayRunner", FakeRunner)
    monkeypatch.setattr(FakeRunner, "most", most)
    ray = ["--store", str(tmp_path), "--ray", "--ray-address", ADDRESS, "--workers", "3"]
    assert main([*command.split(), *ray]) == 0
    assert FakeRunner.given == (ADDRESS, 3)
    stored = {path.stem for path in (tmp_path / "cells").glob("*.json")}
    assert {cell.id for cell in FakeRunner.ran} == stored
    assert len(stored) == most if most else stored
    assert (tmp_path / written).exists()
