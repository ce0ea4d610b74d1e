"""The report goes on where one figure fails."""

from pathlib import Path
from unittest import mock

import pytest

from delightful.lab import reporter
from delightful.lab.cells import Plan
from delightful.lab.reporter import Reporter
from delightful.lab.store import Store
from delightful.paper import EXPERIMENTS


def test_a_figure_that_fails_is_named_once_and_the_others_are_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def draw(figure, *rest):
        if figure.id == "gate/coefficient":
            raise ZeroDivisionError("a defect\nof two lines")
        return drawn(figure, *rest)

    drawn, folder = reporter.draw, tmp_path / "report"
    ours = Reporter([EXPERIMENTS["gate"]], Store(tmp_path / "runs"), Plan(), None, folder)
    with mock.patch.object(reporter, "draw", draw):
        decisions = [ours.write(), ours.write()]
    said = "figure gate/coefficient is left out, drawing it failed: ZeroDivisionError: a defect of"
    assert capsys.readouterr().err.strip() == f"{said} two lines"
    assert len(decisions[0]) == len(EXPERIMENTS["gate"].claims)
    assert [path.name for path in (folder / "figures").glob("*.png")] == ["gate-compare.png"]
    assert "gate-compare" in (folder / "report.html").read_text("utf-8")
