"""Commands that show what has been run: claims, report, export."""

import contextlib
import json
from argparse import Namespace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from delightful.cli.options import experiments, known, pick, plan_of, store_of
from delightful.cli.printing import print_json, wrapped
from delightful.lab.cells import Plan
from delightful.lab.errors import LabError, unknown
from delightful.lab.experiment import VERDICTS, Claim
from delightful.lab.rendering import claim_paragraphs, claims_markdown, on_smoke
from delightful.lab.report import write_report
from delightful.lab.results import (
    Decision,
    Drawn,
    NothingToDrawError,
    decide,
    draw,
    plan_for,
    usable,
)
from delightful.lab.store import Store, to_parquet, write_whole, writing

_COLOURS = {"reproduced": "green", "partly": "yellow", "not reproduced": "red", "not run": "dim"}


def show_claims(options: Namespace) -> None:
    claims: list[Claim] = pick(options.names, "claims", "claim or experiment")
    store, plan = store_of(options), plan_of(options)
    decisions = [decide(claim, store, plan, options.scale) for claim in claims]
    if options.json:
        print_json({"claims": [d.row() for d in decisions], "counts": _counts(decisions)})
    else:
        print_claims(decisions)


def make_report(options: Namespace) -> None:
    report(options, store_of(options), plan_of(options))


def report(options: Namespace, store: Store, plan: Plan) -> list[Decision]:
    """Write the report of --out; the claims in it."""
    chosen = experiments(options.names)
    folder = Path(options.out) if options.out else store.path / "report"
    decisions = [decide(c, store, plan, options.scale) for e in chosen for c in e.claims]
    drawn: list[Drawn] = []
    for figure in (f for e in chosen for f in e.figures if not f.panel):
        its_plan = plan_for(figure.sweep, store, plan, options.scale)
        if figure.sweep is None or usable(figure.sweep, its_plan, store):
            with contextlib.suppress(NothingToDrawError):  # of runs that --method or --set changed
                drawn.append(draw(figure, store, its_plan, folder / "figures", plan))
    page = write_report(folder, chosen, decisions, drawn, _counts(decisions))
    rows = json.dumps([decision.row() for decision in decisions], indent=1, ensure_ascii=False)
    with writing(folder):
        write_whole(folder / "claims.md", claims_markdown(decisions).encode())
        write_whole(folder / "claims.json", rows.encode())
    print(f"report: {page}")
    return decisions


def export(options: Namespace) -> None:
    sweeps, out = known("sweeps"), Path(options.out)
    if options.sweep not in sweeps:
        raise unknown("sweep", options.sweep, sweeps)
    if out.suffix not in (".csv", ".parquet"):
        raise LabError(f"--out must end in .csv or .parquet, got {options.out!r}.")
    sweep, store = sweeps[options.sweep], store_of(options)
    plan = plan_for(sweep, store, plan_of(options), options.scale)
    table = store.table(usable(sweep, plan, store))
    if table is None:
        raise LabError(f"it has not been run: give `delightful run {sweep.name} {plan.options}`.")
    with writing(out):
        write_whole(out, table.write_csv().encode() if out.suffix == ".csv" else to_parquet(table))
    print(f"{table.height} rows written to {out}")


def _counts(decisions: list[Decision]) -> dict[str, int]:
    verdicts = [d.finding.verdict for d in decisions]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def print_claims(decisions: list[Decision]) -> None:
    """A paragraph per claim, and how many have each verdict."""
    console = Console(highlight=False, soft_wrap=True)
    for decision in decisions:
        verdict = decision.finding.verdict
        heading = Text.assemble((decision.claim.id, "bold"), "  ", (verdict, _COLOURS[verdict]))
        console.print(heading)
        for start, text in claim_paragraphs(decision):
            print(wrapped(f"  {start}", text))
        print()
    counts = ", ".join(f"{n} {verdict}" for verdict, n in _counts(decisions).items() if n)
    print(wrapped("", f"{len(decisions)} claims: {counts}"))
    if on_smoke(decisions):
        print(wrapped("", "The smoke scale is a few steps; verdicts on its runs mean nothing."))
