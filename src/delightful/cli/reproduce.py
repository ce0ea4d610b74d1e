"""delightful reproduce: run, draw, check and report, within a budget or at one scale."""

import importlib
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from delightful.cli import options as given
from delightful.lab.budget import Aim, Budget, cells_of, first_cells, first_stages, next_aims
from delightful.lab.cells import Cell, Plan, Sweep
from delightful.lab.decisions import Decision, counts
from delightful.lab.errors import LabError
from delightful.lab.experiment import Experiment
from delightful.lab.progress import run_missing
from delightful.lab.reporter import Reporter
from delightful.lab.runners import Runner
from delightful.lab.store import Store
from delightful.lab.verdicts import VERDICTS
from delightful.lab.wording import plural
from delightful.paper import TITLE

DEFAULT_BUDGET = "10m"


def run(options: Namespace) -> None:
    store, plan = given.store_of(options), given.plan_of(options)
    experiments = given.experiments(options.names)
    folder = Path(options.out) if options.out else store.path / "report"
    broken: list[Cell] = []
    importlib.import_module("matplotlib")  # if it is missing, say so now: a thread draws
    if options.scale or options.seeds:
        if options.budget is not None:
            raise LabError("--budget chooses scales and seeds itself: give it without the others.")
        sweeps = [sweep for experiment in experiments for sweep in experiment.sweeps]
        cells = given.runnable(sweeps, plan, store, options.names)
        if options.dry_run:
            given.dry_run(cells, store, options)
            return
        reporter = Reporter(experiments, _of_its_own(store), plan, plan.scale, folder, TITLE)
        with given.runner_of(options) as runner, reporter.while_running(_decided):
            run_missing(cells, store, runner, broken=broken)
        decisions = reporter.write()
    else:
        if options.dry_run:
            raise LabError("a budget is spent whole: --dry-run needs --scale or --seeds.")
        budget = Budget(DEFAULT_BUDGET if options.budget is None else options.budget)
        with given.runner_of(options) as runner:
            decisions = within(budget, experiments, store, plan, folder, runner, broken)
    summarise(experiments, decisions)
    print(f"report: {folder / 'report.html'}")
    if broken:
        failed = f"{plural(len(broken), 'cell')} failed, for the reasons above"
        raise LabError(f"{failed}; the others are kept.")


def within(
    budget: Budget,
    experiments: Sequence[Experiment],
    store: Store,
    plan: Plan,
    folder: Path,
    runner: Runner,
    broken: list[Cell],
) -> list[Decision]:
    """Spend a budget: what every figure needs first, then what decides the claims still open."""
    reporter = Reporter(experiments, _of_its_own(store), plan, None, folder, TITLE)

    said: set[str] = set()

    def say_once(sweep: Sweep) -> None:
        section, _, _ = sweep.name.partition("/")
        words = f"left out: runs of {section} that need {sweep.absent}"
        if words not in said:  # many figures and claims need the same
            said.add(words)
            print(words, file=sys.stderr)

    def can_run(sweep: Sweep, its_plan: Plan) -> bool:
        return given.can_run(sweep, its_plan, store, asked=False, say=say_once)

    def words(decisions: list[Decision]) -> str:
        budget.decided = _decided(decisions)
        budget.reserve(reporter.seconds)
        return str(budget)

    stages = first_stages(experiments, plan, can_run)
    cells = first_cells(stages)
    try:
        budget.sweeps = [sweep for stage in stages for sweep in stage]
        budget.aims = [Aim("the figures", cells, whole=False)]
        with reporter.while_running(words):
            run_missing(cells, store, runner, budget, broken)
        while True:
            decisions = reporter.write()
            words(decisions)
            budget.sweeps, budget.aims = (), next_aims(decisions, store, can_run)
            cells = [cell for cell in cells_of(budget.aims) if cell not in broken]
            if budget.spent or not cells:
                return decisions
            with reporter.while_running(words):
                ran = run_missing(cells, store, runner, budget, broken)
            if not ran:  # nothing that fits into what is left
                return decisions
    except LabError:  # stopped: the page must not say that a run is on
        reporter.write()
        raise


def _of_its_own(store: Store) -> Store:
    """For the report, which is written in a thread of its own."""
    return Store(store.path, store.also)


def _decided(decisions: list[Decision]) -> str:
    found = counts(decisions)
    total, open_ = sum(found.values()), found["inconclusive"] + found["not run"]
    return f"{total - open_} of {total} claims decided"


def summarise(experiments: Sequence[Experiment], decisions: Sequence[Decision]) -> None:
    """How many claims of each section have each verdict."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("section")
    for verdict in VERDICTS:
        table.add_column(verdict, justify="right")
    for experiment in experiments:
        mine = [d for d in decisions if d.claim.id.startswith(f"{experiment.name}/")]
        if mine:
            table.add_row(experiment.name, *(str(n or "") for n in counts(mine).values()))
    Console(highlight=False).print(table)
