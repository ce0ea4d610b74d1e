"""The settings of the author's code, and its curves beside ours."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from delightful.lab import style
from delightful.lab.cells import Plan
from delightful.lab.errors import LabError
from delightful.paper.tokens import EXPERIMENT, sweep
from delightful.paper.tokens.figures.author import CURVES, REGRETS, author, author_curves

LINES = """loss,parameter,max_delay,seed,step,reward,cumulative_reward
dg,,0,0,1,0.5,0.5
reinforce,,10,0,1,0.4,0.4
pmpo,0.5,0,0,1,0.3,0.3
pmpo,1,10,0,1,0.2,0.2
"""


def test_the_preset_is_what_the_sweep_runs():
    (preset,) = EXPERIMENT.presets.values()
    for cell in sweep.AUTHORS.cells(Plan("paper", seeds=1)):
        assert {name: getattr(cell.config, name) for name in preset} == preset
        assert cell.config.ages == ("batch" if cell.config.delay else "fixed")


def test_every_run_of_the_authors_code_has_one_of_ours_beside_it():
    cells = sweep.AUTHORS.cells(Plan("paper", seeds=1))
    assert set(REGRETS) <= {(cell.config.method, cell.config.delay) for cell in cells}


def test_curves_of_the_authors_code_are_errors_by_our_names(tmp_path, monkeypatch):
    (tmp_path / "curves.csv").write_text(LINES)
    monkeypatch.setenv(CURVES, str(tmp_path / "curves.csv"))
    curves = author_curves()
    rows = curves.select("method", "delay", "error").rows()
    methods = ["dg", "pg", "pmpo", "pmpo:preference=1.0"]
    assert [row[:2] for row in rows] == list(zip(methods, (0, 10, 0, 10), strict=True))
    assert [row[2] for row in rows] == pytest.approx([0.5, 0.6, 0.7, 0.8])


def test_without_a_file_there_are_none(monkeypatch):
    monkeypatch.delenv(CURVES, raising=False)
    assert author_curves() is None


def test_a_file_of_something_else_is_refused_in_a_sentence(tmp_path, monkeypatch):
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    monkeypatch.setenv(CURVES, str(path))
    with pytest.raises(LabError, match="must have the columns loss, max_delay"):
        author_curves()
    monkeypatch.setenv(CURVES, str(tmp_path / "none.csv"))
    with pytest.raises(LabError, match="must name a CSV file"):
        author_curves()


def test_the_figure_has_ours_as_dots_and_the_authors_as_crosses(runs, monkeypatch):
    monkeypatch.delenv(CURVES, raising=False)
    rows = runs(sweep.AUTHORS, lambda config: 0.1 + config.delay / 100, Plan("paper"), 2)
    with style.context():
        drawing = author(rows)
    axis = drawing.figure.axes[2]
    dots = [line for line in axis.get_lines() if line.get_marker() == "o"]
    full = [line.get_xdata()[0] for line in dots if line.get_alpha() is None]
    assert [len(line.get_xdata()) for line in dots if line.get_alpha()] == [2] * 10  # seeds
    crosses = [x for line in axis.get_lines() if line.get_marker() == "x" for x in line.get_xdata()]
    assert sorted(full) == pytest.approx([0.1] * 5 + [0.2] * 5, abs=1e-3)
    assert sorted(crosses) == sorted(np.concatenate(list(REGRETS.values())))
    plt.close(drawing.figure)
