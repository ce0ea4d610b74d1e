"""Commands on experiments: run, figure, claims, report, export; then bench and data."""

import importlib
import sys
from argparse import Namespace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from delightful.cli import options as given
from delightful.cli.printing import print_json, wrapped
from delightful.lab.cells import Cell, Sweep
from delightful.lab.decisions import Decision, counts, decide_all
from delightful.lab.drawing import draw
from delightful.lab.errors import LabError, unknown
from delightful.lab.experiment import Claim, Figure, command
from delightful.lab.progress import run_missing
from delightful.lab.rendering import LEGEND, claim_paragraphs, on_smoke
from delightful.lab.reporter import Reporter
from delightful.lab.selection import plan_for, usable, where
from delightful.lab.store import to_parquet, write_whole, writing
from delightful.lab.wording import plural
from delightful.paper import TITLE

DEEPEST = 12  # columns by which lines are indented at most
_COLOURS = {
    "reproduced": "green",
    "partly": "yellow",
    "not reproduced": "red",
    "inconclusive": "blue",
    "not run": "dim",
}


def run_sweeps(options: Namespace) -> None:
    plan, store = given.plan_of(options), given.store_of(options)
    sweeps: list[Sweep] = given.pick(options.names, "sweeps", "experiment or sweep")
    if not sweeps:
        print(f"{' and '.join(options.names)} needs no runs: its claims and figures are exact.")
        return
    cells = given.runnable(sweeps, plan, store, options.names)
    if not cells:
        raise LabError(f"nothing of {' and '.join(options.names)} can run without these packages.")
    if options.dry_run:
        given.dry_run(cells, store, options)
        return
    with given.runner_of(options) as runner:
        run_missing(cells, store, runner)


def draw_figures(options: Namespace) -> None:
    store, plan = given.store_of(options), given.plan_of(options)
    figures: list[Figure] = given.pick(options.names, "figures", "figure")
    folder = Path(options.out) if options.out else store.path / "figures"
    plans = {f.id: plan_for(f.sweep, store, plan, options.scale) for f in figures}
    chosen: list[Figure] = []
    cells: list[Cell] = []
    for figure in figures:
        sweep, its_plan = figure.sweep, plans[figure.id]
        asked = figure.id in options.names
        if sweep is None or given.can_run(sweep, its_plan, store, asked, draws=True):
            chosen.append(figure)
            if sweep and not (sweep.in_part and usable(sweep, its_plan, store)):
                cells += sweep.cells(its_plan)
    if options.dry_run:
        given.dry_run(cells, store, options)
        return
    with given.runner_of(options) as runner:
        if cells:
            run_missing(cells, store, runner)
    for figure in chosen:
        files = draw(figure, store, plans[figure.id], folder, plan).files.values()
        print(f"{figure.number}: {figure.title}", *(f"  {path}" for path in files), sep="\n")


def show_claims(options: Namespace) -> None:
    claims: list[Claim] = given.pick(options.names, "claims", "claim or experiment")
    store, plan = given.store_of(options), given.plan_of(options)
    decisions = decide_all(claims, store, plan, options.scale)
    for note in dict.fromkeys(d.note for d in decisions if d.damaged):
        print(note, file=sys.stderr)
    if options.json:
        print_json({"claims": [d.row() for d in decisions], "counts": counts(decisions)})
    else:
        print_claims(decisions, options.explain)


def report(options: Namespace) -> None:
    store, plan = given.store_of(options), given.plan_of(options)
    folder = Path(options.out) if options.out else store.path / "report"
    experiments = given.experiments(options.names)

    def tell(section: str) -> None:
        print(section, file=sys.stderr, flush=True)

    Reporter(experiments, store, plan, options.scale, folder, TITLE, tell).write()
    print(f"report: {folder / 'report.html'}")


def export(options: Namespace) -> None:
    sweeps, out = given.known("sweeps"), Path(options.out)
    if options.sweep not in sweeps:
        raise unknown("sweep", options.sweep, sweeps)
    if out.suffix not in (".csv", ".parquet"):
        raise LabError(f"--out must end in .csv or .parquet, got {options.out!r}.")
    sweep, store = sweeps[options.sweep], given.store_of(options)
    plan = plan_for(sweep, store, given.plan_of(options), options.scale)
    table = store.table(usable(sweep, plan, store))
    if table is None:
        run = command("run", sweep.name, plan, where(sweep, plan, store))
        raise LabError(f"it has not been run: give `{run}`.")
    with writing(out):
        write_whole(out, table.write_csv().encode() if out.suffix == ".csv" else to_parquet(table))
    print(f"{table.height} rows written to {out}")


def print_claims(decisions: list[Decision], explain: bool = False) -> None:
    """A paragraph per claim, and how many have each verdict."""
    console = Console(highlight=False, soft_wrap=True)
    for decision in decisions:
        verdict = decision.verdict
        heading = Text.assemble((decision.claim.id, "bold"), "  ", (verdict, _COLOURS[verdict]))
        console.print(heading)
        for start, text in claim_paragraphs(decision, explain):
            print(wrapped(f"  {start}", text, min(2 + len(start), DEEPEST)))
        print()
    by_verdict = counts(decisions)
    words = ", ".join(f"{n} {verdict}" for verdict, n in by_verdict.items() if n)
    total = sum(by_verdict.values())
    print(wrapped("", f"{plural(total, 'claim')}: {words}"))
    if explain:
        print(wrapped("", f"{LEGEND}."))
    if on_smoke(decisions):
        print(wrapped("", "The smoke scale is a few steps; verdicts on its runs mean nothing."))


def bench(options: Namespace) -> None:
    module = options.benchmark.replace("-", "_")
    benchmark = importlib.import_module(f"delightful.benchmarks.{module}")
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
