"""The quick scale as a whole."""

import pytest

from delightful.lab import cost
from delightful.lab.cells import Plan
from delightful.lab.store import Store
from delightful.paper import EXPERIMENTS

SECTIONS = ("gate", "bandit", "contexts", "mnist", "tokens")  # as the Makefile's PAPER


def test_make_reproduce_all_takes_40_minutes_on_two_cores_at_most(monkeypatch, tmp_path):
    """On the reference machine, with a minute and a half for setting up and drawing."""
    monkeypatch.setattr(cost, "_speed_factor", lambda: 1.0)
    sweeps = [sweep for name in SECTIONS for sweep in EXPERIMENTS[name].sweeps]
    cells = dict.fromkeys(cell for sweep in sweeps for cell in sweep.cells(Plan("quick")))
    total = cost.Speed((), Store(tmp_path)).total(cells)
    assert total / 2 == pytest.approx(38.5 * 60, rel=0.25)
    assert total / 2 <= 38.5 * 60
