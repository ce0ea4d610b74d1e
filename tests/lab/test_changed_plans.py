"""Claims on changed sweeps: decided where they can be, else "not run" with the reason."""

import numpy as np
import pytest

from delightful.lab.cells import Cell, Plan
from delightful.lab.decisions import decide
from delightful.lab.drawing import draw
from delightful.lab.errors import LabError
from delightful.lab.runners import run_cell, run_here
from delightful.lab.store import Store
from delightful.paper import EXPERIMENTS
from delightful.paper.bandit import sweep

CLAIMS = {claim.id: claim for claim in EXPERIMENTS["bandit"].claims}


@pytest.fixture
def store(tmp_path) -> Store:
    made = Store(tmp_path)
    made.prepare()
    return made


def decided(store: Store, claim: str, plan: Plan):
    for _ in run_here(CLAIMS[claim].sweep.cells(plan), store):
        pass
    return decide(CLAIMS[claim], store, plan, plan.scale)[0]


def test_a_claim_follows_a_changed_error(store) -> None:
    finding = decided(store, "bandit/gap-vanishes", Plan("smoke", changes={"error": "0.3"}))
    assert finding.verdict == "reproduced"


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (Plan("smoke", changes={"batch": "10"}), "two batch sizes"),
        (Plan("smoke", methods=("pg", "awr")), "pg and dg"),
    ],
)
def test_a_claim_that_lacks_runs_says_which(store, plan, reason) -> None:
    finding = decided(store, "bandit/gap-vanishes", plan)
    assert finding.verdict == "not run"
    assert reason in finding.note


@pytest.mark.parametrize("spec", ["dg:whiten=scale", "dg:level=sequence", "mpo"])
def test_what_weighs_batches_is_refused_where_samples_are_weighed_alone(spec) -> None:
    with pytest.raises(LabError, match="one by one"):
        sweep.ALIGNMENT.cells(Plan("smoke", methods=(spec,)))
    with pytest.raises(LabError, match="weighs whole batches"):
        EXPERIMENTS["contexts"].sweeps[0].cells(Plan("smoke", methods=(spec,)))


def test_curves_that_are_not_finite_are_not_stored(store, monkeypatch) -> None:
    cell = sweep.ALIGNMENT.cells(Plan("smoke"))[0]
    curves = {"step": np.zeros(1), "misalignment": np.full((cell.seeds, 1), np.nan)}
    monkeypatch.setattr(Cell, "run", lambda *_: curves)
    with pytest.raises(LabError, match="NaN or infinity in misalignment"):
        run_cell(cell, store)
    assert store.state(cell) == "missing"


def test_a_figure_of_a_changed_sweep_draws(store, tmp_path) -> None:
    plan = Plan("smoke", methods=("pg", "dg"), changes={"batch": "10"})
    figure = next(f for f in EXPERIMENTS["bandit"].figures if f.id == "bandit/alignment")
    for _ in run_here(figure.sweep.cells(plan), store):
        pass
    assert draw(figure, store, plan, tmp_path / "figures").files["png"].stat().st_size > 0
