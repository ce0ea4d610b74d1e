"""Every plug-in trains what its framework trains: runs of `delightful run stacks`, one seed."""

import numpy as np
import pytest

from delightful.lab.cells import Plan
from delightful.paper.stacks.sweep import FRESH, SWEEPS

CELLS = {
    f"{cell.config.stack}-{cell.config.algorithm}-{cell.config.task}": (sweep, cell)
    for sweep in FRESH
    for cell in sweep.cells(Plan("quick", seeds=1))
    if cell.config.method in ("dg", "dg:max_surprisal=10.0")
}


@pytest.mark.parametrize("name", CELLS)
def test_it_learns(name):
    sweep, cell = CELLS[name]
    if sweep.missing:
        pytest.skip(sweep.missing)
    score = cell.run()["score"][0]
    first, last = score[:3].mean(), score[-3:].mean()
    better = {"reversal": first + 0.3, "Pendulum-v1": first + 400}.get(cell.config.task, 2 * first)
    assert last > better
    assert np.isfinite(score).all()


@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda sweep: sweep.name)
def test_a_run_repeats_to_the_byte(sweep):
    if sweep.missing:
        pytest.skip(sweep.missing)
    cell = sweep.cells(Plan("smoke"))[-1]
    first, second = (cell.run()["score"] for _ in range(2))
    assert first.tobytes() == second.tobytes()
