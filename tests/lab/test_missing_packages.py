"""A sweep whose packages are not installed: said, left out, and refused only if asked for."""

from dataclasses import replace

import pytest

from delightful.cli import options
from delightful.cli.main import main
from delightful.lab.cells import Plan
from delightful.lab.errors import LabError
from delightful.lab.experiment import Reading
from delightful.lab.runners import run_here
from delightful.lab.store import Store
from delightful.paper import EXPERIMENTS
from delightful.paper.bandit.sweep import ALIGNMENT

NEEDY = replace(ALIGNMENT, needs=("numpy", "no_such_package"), extra="sb3")
PLAN = Plan("smoke", seeds=1)
SENTENCE = (
    "bandit/alignment needs no_such_package: pip install '.[lab,sb3]' in a clone of delightful"
)


def test_it_names_what_is_missing_and_what_installs_it():
    assert NEEDY.missing == SENTENCE
    assert ALIGNMENT.missing == ""


def test_it_is_left_out_with_a_line(tmp_path, capsys):
    found = options.runnable([NEEDY, ALIGNMENT], PLAN, Store(tmp_path), [])
    assert len(found) == len(ALIGNMENT.cells(PLAN))
    assert capsys.readouterr().err == f"left out: {SENTENCE}\n"


def test_if_nothing_is_left_to_run_that_is_an_error(tmp_path, monkeypatch):
    bandit = replace(EXPERIMENTS["bandit"], sweeps=(NEEDY,))
    monkeypatch.setitem(EXPERIMENTS, "bandit", bandit)
    arguments = ["run", "bandit", "--scale", "smoke", "--store", str(tmp_path / "store")]
    assert main(arguments) == 2
    assert not (tmp_path / "store").exists()


def test_asked_for_by_name_it_is_refused(tmp_path):
    with pytest.raises(LabError, match="needs no_such_package"):
        options.runnable([NEEDY], PLAN, Store(tmp_path), [NEEDY.name])


def test_what_has_been_run_needs_nothing(tmp_path, capsys):
    store = Store(tmp_path)
    store.prepare()
    list(run_here(ALIGNMENT.cells(PLAN), store))
    assert options.runnable([NEEDY], PLAN, store, [NEEDY.name]) == NEEDY.cells(PLAN)
    assert capsys.readouterr().err == ""


def test_a_budget_says_once_what_many_figures_and_claims_lack(tmp_path, monkeypatch, capsys):
    bandit = EXPERIMENTS["bandit"]
    other = replace(NEEDY, name="bandit/other")
    figures = [f for f in bandit.figures if f.sweep is ALIGNMENT]
    claims = [claim for claim in bandit.claims if claim.sweep is ALIGNMENT]
    needy = replace(
        bandit,
        sweeps=(NEEDY, other),
        figures=[replace(f, sweep=NEEDY) for f in figures],
        claims=[replace(c, readings=(Reading(sweep=s),)) for c in claims for s in (NEEDY, other)],
    )
    monkeypatch.setitem(EXPERIMENTS, "bandit", needy)
    assert len(figures) + len(claims) > 2
    assert main(["reproduce", "bandit", "--budget", "20s", "--store", str(tmp_path)]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("left out")]
    sentence = SENTENCE.removeprefix("bandit/alignment needs ")
    assert lines == [f"left out: runs of bandit that need {sentence}"]
