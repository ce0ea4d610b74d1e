"""What each command of `delightful` does."""

import contextlib
import importlib
import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from delightful.benchmarks import BENCHMARKS
from delightful.lab.cells import Cell, Plan, Sweep
from delightful.lab.compiling import use_threads
from delightful.lab.errors import LabError, unknown
from delightful.lab.experiment import VERDICTS, Claim, Experiment, Figure
from delightful.lab.progress import run_missing
from delightful.lab.report import write_report
from delightful.lab.results import (
    Decision,
    Drawn,
    NothingToDrawError,
    claims_markdown,
    decide,
    draw,
    plan_for,
    usable,
)
from delightful.lab.runners import cores
from delightful.lab.store import Store, cannot_write, to_parquet, write_whole
from delightful.paper import EXPERIMENTS
from delightful.weights import find_method

_COLOURS = {"reproduced": "green", "partly": "yellow", "not reproduced": "red", "not run": "dim"}


def run(options: Namespace) -> None:
    use_threads(2 if _is_alone(options) else 1)
    {
        "list": list_everything,
        "run": run_sweeps,
        "figure": draw_figures,
        "claims": show_claims,
        "report": make_report,
        "reproduce": reproduce,
        "train": train,
        "play": play,
        "export": export,
        "bench": bench,
        "data": fetch_data,
    }[options.command](options)


# What the options mean


def _is_alone(options: Namespace) -> bool:
    """Whether one run of control has the machine; all else comes in sweeps, a process per core."""
    return bool(
        options.command == "train" or (options.command == "bench" and options.names == ["control"])
    )


def _store(options: Namespace) -> Store:
    return Store(options.store or os.environ.get("DELIGHTFUL_STORE") or "results")


def _changes(options: Namespace) -> dict[str, str]:
    changes = {}
    for item in options.set:
        name, equals, value = item.partition("=")
        if not equals:
            raise LabError(f"--set must read FIELD=VALUE, got {item!r}.")
        changes[name] = value
    return changes


def _plan(options: Namespace) -> Plan:
    for spec in options.method:
        try:
            find_method(spec.partition(":")[0])
        except ValueError as error:
            raise LabError(f"{error}.") from None
    methods = tuple(options.method)
    return Plan(options.scale or "quick", options.seeds, methods, _changes(options))


def _workers(options: Namespace) -> int:
    if options.workers is None:
        return cores()
    if options.workers < 1:
        raise LabError(f"--workers must be at least 1, got {options.workers}.")
    return int(options.workers)


def _experiments(names: Iterable[str]) -> list[Experiment]:
    for name in names:
        if name not in EXPERIMENTS:
            raise unknown("experiment", name, EXPERIMENTS)
    return [EXPERIMENTS[name] for name in dict.fromkeys(names)] or list(EXPERIMENTS.values())


def _pick(names: Iterable[str], kind: str, attribute: str) -> list[Any]:
    """Sweeps, figures or claims by their own name or their experiment's; all for no name."""
    known = {
        getattr(item, "id", None) or item.name: item
        for experiment in EXPERIMENTS.values()
        for item in getattr(experiment, attribute)
    }
    picked: dict[str, Any] = {}
    for name in names:
        if name in EXPERIMENTS:
            picked |= {key: item for key, item in known.items() if key.startswith(f"{name}/")}
        elif name in known:
            picked[name] = known[name]
        else:
            raise unknown(kind, name, [*EXPERIMENTS, *known])
    return list(picked.values()) if names else list(known.values())


def _runnable(sweeps: list[Sweep], plan: Plan, store: Store, asked: Iterable[str]) -> list[Cell]:
    """The cells of all sweeps but those that cannot run here."""
    return [c for s in sweeps if _can_run(s, plan, store, s.name in asked) for c in s.cells(plan)]


def _can_run(sweep: Sweep, plan: Plan, store: Store, asked: bool, *, draws: bool = False) -> bool:
    """Whether nothing that it needs is missing, or all of it has been run.

    draws: whether what has been run is to be drawn: then that may be enough.

    Leaving one out is said; one that was asked for by name is not left out.
    """
    if not sweep.missing or all(store.state(cell) == "done" for cell in sweep.cells(plan)):
        return True
    if draws and usable(sweep, plan, store):
        return True
    if asked:
        raise LabError(f"{sweep.missing}.")
    print(f"left out: {sweep.missing}", file=sys.stderr)
    return False


# The commands


def list_everything(options: Namespace) -> None:
    store = _store(options)
    sweeps = [sweep for e in EXPERIMENTS.values() for sweep in e.sweeps]
    runs = [_done(sweep, scale, store) for sweep in sweeps for scale in sweep.seeds]
    if options.json:
        _print_json({"experiments": list(map(_listing, EXPERIMENTS.values())), "runs": runs})
        return
    for experiment in EXPERIMENTS.values():
        print(f"\n{experiment.name}: {experiment.title} ({experiment.section})")
        for figure in experiment.figures:
            print(f"  figure  {figure.id:<26} {figure.number}: {figure.title}")
        for sweep in experiment.sweeps:
            mine = [r for r in runs if r["sweep"] == sweep.name]
            done = ", ".join(f"{r['scale']} {r['done']}/{r['cells']}" for r in mine)
            print(f"  sweep   {sweep.name:<26} cells done: {done}")
            print(f"  {'':<34} fields: {', '.join(_fields(sweep))}")
        for claim in experiment.claims:
            print(f"  claim   {claim.id:<26} {claim.where}")


def _listing(experiment: Experiment) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "title": experiment.title,
        "section": experiment.section,
        "figures": [{"id": f.id, "number": f.number, "title": f.title} for f in experiment.figures],
        "sweeps": [{"name": s.name, "fields": _fields(s)} for s in experiment.sweeps],
        "claims": [
            {"id": c.id, "where": c.where, "sentence": c.sentence} for c in experiment.claims
        ],
    }


def _done(sweep: Sweep, scale: str, store: Store) -> dict[str, Any]:
    cells = sweep.cells(Plan(scale))
    done = sum(store.state(cell) == "done" for cell in cells)
    return {"sweep": sweep.name, "scale": scale, "cells": len(cells), "done": done}


def _fields(sweep: Sweep) -> list[str]:
    return [field.name for field in fields(sweep.configs("smoke")[0])]


def run_sweeps(options: Namespace) -> None:
    plan, store = _plan(options), _store(options)
    sweeps: list[Sweep] = _pick(options.names, "experiment or sweep", "sweeps")
    if not sweeps:
        print(f"{' and '.join(options.names)} needs no runs: its claims and figures are exact.")
        return
    cells = _runnable(sweeps, plan, store, options.names)
    if not cells:
        raise LabError(f"nothing of {' and '.join(options.names)} can run without these packages.")
    run_missing(cells, store, _workers(options))


def draw_figures(options: Namespace) -> None:
    store, plan, workers = _store(options), _plan(options), _workers(options)
    figures: list[Figure] = _pick(options.names, "figure", "figures")
    folder = Path(options.out) if options.out else store.path / "figures"
    plans = {f.id: plan_for(f.sweep, store, plan, options.scale) for f in figures}
    figures = [
        f
        for f in figures
        if f.sweep is None
        or _can_run(f.sweep, plans[f.id], store, f.id in options.names, draws=True)
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


def show_claims(options: Namespace) -> None:
    claims: list[Claim] = _pick(options.names, "claim or experiment", "claims")
    store, plan = _store(options), _plan(options)
    decisions = [decide(claim, store, plan, options.scale) for claim in claims]
    if options.json:
        _print_json({"claims": [d.row() for d in decisions], "counts": _counts(decisions)})
    else:
        _print_claims(decisions)


def make_report(options: Namespace) -> None:
    _report(options, _store(options), _plan(options))


def reproduce(options: Namespace) -> None:
    store, plan = _store(options), _plan(options)
    sweeps = [s for e in _experiments(options.names) for s in e.sweeps]
    run_missing(_runnable(sweeps, plan, store, options.names), store, _workers(options))
    options.scale = plan.scale
    decisions = _report(options, store, plan)
    _print_claims(decisions)


def train(options: Namespace) -> None:
    from delightful.cli import train as command

    command.run(options, _changes(options))


def play(options: Namespace) -> None:
    from delightful.cli import play as command

    command.run(options)


def export(options: Namespace) -> None:
    sweeps: list[Sweep] = _pick(options.names, "sweep", "sweeps")
    out = Path(options.out)
    if len(options.names) != 1 or len(sweeps) != 1:
        every = [s.name for e in EXPERIMENTS.values() for s in e.sweeps]
        raise LabError(f"export takes one sweep, one of {', '.join(every)}.")
    if out.suffix not in (".csv", ".parquet"):
        raise LabError(f"--out must end in .csv or .parquet, got {options.out!r}.")
    store = _store(options)
    plan = plan_for(sweeps[0], store, _plan(options), options.scale)
    table = store.table(usable(sweeps[0], plan, store))
    if table is None:
        raise LabError(
            f"it has not been run: give `delightful run {sweeps[0].name} {plan.options}`."
        )
    try:
        write_whole(out, table.write_csv().encode() if out.suffix == ".csv" else to_parquet(table))
    except OSError as error:
        raise cannot_write(out, error) from None
    print(f"{table.height} rows written to {out}")


def bench(options: Namespace) -> None:
    if len(options.names) != 1 or options.names[0] not in BENCHMARKS:
        got = " ".join(options.names) or "none"
        raise LabError(f"bench takes one of: {', '.join(BENCHMARKS)}; got {got}.")
    benchmark = importlib.import_module(f"delightful.benchmarks.{options.names[0]}")
    figures = benchmark.measure()
    if options.json:
        _print_json(figures)
    else:
        print(benchmark.describe(figures))


def fetch_data(options: Namespace) -> None:
    if options.names != ["mnist"]:
        raise LabError(f"data takes one of: mnist; got {' '.join(options.names) or 'none'}.")
    from delightful.paper.mnist import data

    print(f"MNIST {data.fetch()}")
    mnist = data.load()
    print(f"{len(mnist.train_labels)} + {len(mnist.val_labels)} images, every file's SHA-256 right")


# Printing


def _report(options: Namespace, store: Store, plan: Plan) -> list[Decision]:
    experiments = _experiments(options.names)
    folder = Path(options.out) if options.out else store.path / "report"
    decisions = [decide(c, store, plan, options.scale) for e in experiments for c in e.claims]
    drawn: list[Drawn] = []
    for figure in (f for e in experiments for f in e.figures if not f.panel):
        its_plan = plan_for(figure.sweep, store, plan, options.scale)
        if figure.sweep is None or usable(figure.sweep, its_plan, store):
            with contextlib.suppress(NothingToDrawError):  # of runs that --method or --set changed
                drawn.append(draw(figure, store, its_plan, folder / "figures"))
    page = write_report(folder, experiments, decisions, drawn, _counts(decisions))
    rows = json.dumps([decision.row() for decision in decisions], indent=1, ensure_ascii=False)
    try:
        write_whole(folder / "claims.md", claims_markdown(decisions).encode())
        write_whole(folder / "claims.json", rows.encode())
    except OSError as error:
        raise cannot_write(folder, error) from None
    print(f"report: {page}")
    return decisions


def _counts(decisions: list[Decision]) -> dict[str, int]:
    verdicts = [d.finding.verdict for d in decisions]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def _print_claims(decisions: list[Decision]) -> None:
    table = Table(
        "claim and command",
        "the paper says",
        "paper",
        "here (95% interval)",
        "verdict",
        show_lines=True,
    )
    for decision in decisions:
        claim, finding = decision.claim, decision.finding
        here = f"{finding.measures}: {finding.text}" if finding.measures else ""
        here += f" ({finding.note})" if finding.note else ""
        sentence = f"{claim.sentence} ({claim.where})"
        texts = (f"{claim.id}\n{decision.command}", sentence, claim.paper, here)
        table.add_row(*map(Text, texts), Text(finding.verdict, style=_COLOURS[finding.verdict]))
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    console.print(table)
    counts = ", ".join(f"{n} {verdict}" for verdict, n in _counts(decisions).items() if n)
    console.print(f"{len(decisions)} claims: {counts}")
    if any(decision.runs and decision.plan.scale == "smoke" for decision in decisions):
        console.print("The smoke scale is a few steps; verdicts on its runs mean nothing.")


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))
