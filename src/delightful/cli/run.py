"""Commands that compute: run, figure, reproduce, bench, data."""

import importlib
from argparse import Namespace
from pathlib import Path

from delightful.cli.options import (
    can_run,
    experiments,
    pick,
    plan_of,
    runnable,
    store_of,
    workers_of,
)
from delightful.cli.printing import print_json
from delightful.cli.show import print_claims, report
from delightful.lab.cells import Cell, Sweep
from delightful.lab.errors import LabError
from delightful.lab.experiment import Figure
from delightful.lab.progress import run_missing
from delightful.lab.results import draw, plan_for, usable


def run_sweeps(options: Namespace) -> None:
    plan, store = plan_of(options), store_of(options)
    sweeps: list[Sweep] = pick(options.names, "sweeps", "experiment or sweep")
    if not sweeps:
        print(f"{' and '.join(options.names)} needs no runs: its claims and figures are exact.")
        return
    cells = runnable(sweeps, plan, store, options.names)
    if not cells:
        raise LabError(f"nothing of {' and '.join(options.names)} can run without these packages.")
    run_missing(cells, store, workers_of(options))


def draw_figures(options: Namespace) -> None:
    store, plan, workers = store_of(options), plan_of(options), workers_of(options)
    figures: list[Figure] = pick(options.names, "figures", "figure")
    folder = Path(options.out) if options.out else store.path / "figures"
    plans = {f.id: plan_for(f.sweep, store, plan, options.scale) for f in figures}
    chosen: list[Figure] = []
    cells: list[Cell] = []
    for figure in figures:
        sweep, its_plan = figure.sweep, plans[figure.id]
        asked = figure.id in options.names
        if sweep is None or can_run(sweep, its_plan, store, asked, draws=True):
            chosen.append(figure)
            if sweep and not (sweep.in_part and usable(sweep, its_plan, store)):
                cells += sweep.cells(its_plan)
    if cells:
        run_missing(cells, store, workers)
    for figure in chosen:
        drawn = draw(figure, store, plans[figure.id], folder, plan)
        print(f"{figure.number}: {figure.title}")
        for path in drawn.files.values():
            print(f"  {path}")


def reproduce(options: Namespace) -> None:
    store, plan = store_of(options), plan_of(options)
    sweeps = [s for e in experiments(options.names) for s in e.sweeps]
    run_missing(runnable(sweeps, plan, store, options.names), store, workers_of(options))
    options.scale = plan.scale
    print_claims(report(options, store, plan))


def bench(options: Namespace) -> None:
    benchmark = importlib.import_module(f"delightful.benchmarks.{options.benchmark}")
    figures = benchmark.measure()
    if options.json:
        print_json(figures)
    else:
        print(benchmark.describe(figures))


def fetch_data(_: Namespace) -> None:
    from delightful.paper.mnist import data

    print(f"MNIST {data.fetch()}")
    mnist = data.load()
    print(f"{len(mnist.train_labels)} + {len(mnist.val_labels)} images, every SHA-256 verified")
