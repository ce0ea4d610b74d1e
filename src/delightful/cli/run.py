"""Commands that compute: run, figure, reproduce, train, bench, data."""

import importlib
from argparse import Namespace
from pathlib import Path

from delightful.cli.options import (
    can_run,
    changes_of,
    experiments,
    pick,
    plan_of,
    runnable,
    store_of,
    workers_of,
)
from delightful.cli.printing import print_json
from delightful.cli.show import print_claims, report
from delightful.lab.cells import Sweep
from delightful.lab.errors import LabError
from delightful.lab.experiment import Figure
from delightful.lab.progress import run_missing
from delightful.lab.results import draw, plan_for, usable


def run_sweeps(options: Namespace) -> None:
    """`delightful run`."""
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
    """`delightful figure`."""
    store, plan, workers = store_of(options), plan_of(options), workers_of(options)
    figures: list[Figure] = pick(options.names, "figures", "figure")
    folder = Path(options.out) if options.out else store.path / "figures"
    plans = {f.id: plan_for(f.sweep, store, plan, options.scale) for f in figures}
    figures = [
        f
        for f in figures
        if f.sweep is None
        or can_run(f.sweep, plans[f.id], store, f.id in options.names, draws=True)
    ]
    cells = [
        cell
        for f in figures
        if f.sweep and not (f.sweep.in_part and usable(f.sweep, plans[f.id], store))
        for cell in f.sweep.cells(plans[f.id])
    ]
    if cells:
        run_missing(cells, store, workers)
    for figure in figures:
        drawn = draw(figure, store, plans[figure.id], folder)
        print(f"{figure.number}: {figure.title}")
        for path in drawn.files.values():
            print(f"  {path}")


def reproduce(options: Namespace) -> None:
    """`delightful reproduce`."""
    store, plan = store_of(options), plan_of(options)
    sweeps = [s for e in experiments(options.names) for s in e.sweeps]
    run_missing(runnable(sweeps, plan, store, options.names), store, workers_of(options))
    options.scale = plan.scale
    print_claims(report(options, store, plan))


def train(options: Namespace) -> None:
    """`delightful train`."""
    from delightful.cli import train as command

    command.run(options, changes_of(options))


def bench(options: Namespace) -> None:
    """`delightful bench`."""
    benchmark = importlib.import_module(f"delightful.benchmarks.{options.benchmark}")
    figures = benchmark.measure()
    if options.json:
        print_json(figures)
    else:
        print(benchmark.describe(figures))


def fetch_data(_: Namespace) -> None:
    """`delightful data`."""
    from delightful.paper.mnist import data

    print(f"MNIST {data.fetch()}")
    mnist = data.load()
    print(f"{len(mnist.train_labels)} + {len(mnist.val_labels)} images, every SHA-256 verified")
