"""Results: figures drawn and claims decided from what a store holds."""

import functools
import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from delightful.lab import style
from delightful.lab.cells import SCALES, Cell, Plan, Sweep
from delightful.lab.errors import LabError
from delightful.lab.experiment import Claim, Figure, Finding, NotMeasuredError, command
from delightful.lab.store import Store, cannot_write, write_whole

LONGEST_NAME = 100  # characters of a figure's file name, before a digest of what is cut off


@dataclass(frozen=True)
class Decision:
    """A claim, what was found, on which plan, and the command that runs what it needs."""

    claim: Claim
    finding: Finding
    plan: Plan
    runs: int | None  # seeds per config; None where nothing is sampled

    @property
    def command(self) -> str:
        if self.claim.sweep is None:
            return f"delightful claims {self.claim.id}"
        run = command("run", self.claim.sweep.name, self.plan)
        return f"{run} && {command('claims', self.claim.id, self.plan)}"

    def row(self) -> dict[str, Any]:
        finding = self.finding
        return {
            "id": self.claim.id,
            "where": self.claim.where,
            "sentence": self.claim.sentence,
            "paper": self.claim.paper,
            "measures": finding.measures,
            "value": _finite(finding.value),
            "low": _finite(finding.low),
            "high": _finite(finding.high),
            "text": finding.text,
            "verdict": finding.verdict,
            "note": finding.note,
            "scale": None if self.claim.sweep is None else self.plan.scale,
            "seeds": self.runs,
            "command": self.command,
        }


def _finite(value: float | None) -> float | None:
    """JSON has no NaN: an interval of one seed is null."""
    return value if value is not None and math.isfinite(value) else None


def plan_for(  # noqa: PLR0911 (one return for each of the cases that it names)
    sweep: Sweep | None, store: Store, plan: Plan, scale: str | None
) -> Plan:
    """The plan at the asked scale; with none asked, at the largest that the store can show.

    A scale can be shown if it is complete, or if it has more seeds than the next smaller scale
    asks for: a long run that was stopped counts with the seeds that it has for every config. Of a
    sweep that is used in part, it is the scale of which most has been run, smoke if nothing else.
    """
    if scale is not None or sweep is None:
        return plan
    if sweep.in_part:
        return _most_run(sweep, store, plan)
    for name, smaller in zip(reversed(SCALES), (*reversed(SCALES[:-1]), None), strict=True):
        candidate = replace(plan, scale=name)
        if plan.seeds is not None:
            if _is_done(_cells(sweep, candidate), store):
                return candidate
            continue
        seeds = _seeds_done(sweep, store, candidate)
        if seeds > sweep.seeds[name]:
            return replace(candidate, seeds=seeds)
        if seeds == sweep.seeds[name] or _is_done(_cells(sweep, candidate), store):
            return candidate
        if smaller and seeds > sweep.seeds[smaller]:
            return replace(candidate, seeds=seeds)
    return plan


def usable(sweep: Sweep, plan: Plan, store: Store) -> list[Cell]:
    """The stored cells that figures and claims use."""
    cells = _cells(sweep, plan)
    done = [cell for cell in cells if store.state(cell) == "done"]
    return done if sweep.in_part or len(done) == len(cells) else []


_known: dict[tuple[str, str], tuple[Sweep, list[Cell]]] = {}


def _cells(sweep: Sweep, plan: Plan) -> list[Cell]:
    """The cells of a plan, which many claims ask for: checking configs takes a third of the time
    of `delightful claims`."""
    key = sweep.name, plan.options
    if key not in _known or _known[key][0] is not sweep:
        _known[key] = sweep, sweep.cells(plan)
    return _known[key][1]


def _table(sweep: Sweep, plan: Plan, store: Store) -> pl.DataFrame | None:
    """The table of the usable cells, None if there is none; claims on one sweep share it."""
    roles = [(cell, cell.role, cell.varied) for cell in usable(sweep, plan, store)]
    return _read(store, tuple(roles))


@functools.lru_cache(maxsize=4)
def _read(
    store: Store, roles: tuple[tuple[Cell, str, tuple[str, ...]], ...]
) -> pl.DataFrame | None:
    return store.table(cell for cell, *_ in roles)


def _most_run(sweep: Sweep, store: Store, plan: Plan) -> Plan:
    candidates = [replace(plan, scale=name) for name in reversed(SCALES[1:])]
    done = {c.scale: len(usable(sweep, c, store)) for c in candidates}
    if not any(done.values()):
        smoke = replace(plan, scale=SCALES[0])
        return smoke if usable(sweep, smoke, store) else plan
    return max(candidates, key=lambda candidate: done[candidate.scale])


def _is_done(cells: Sequence[Cell], store: Store) -> bool:
    return all(store.state(cell) == "done" for cell in cells)


def _seeds_done(sweep: Sweep, store: Store, plan: Plan) -> int:
    """How many seeds, from the first on, every config has in whole blocks."""
    most = replace(plan, seeds=max(sweep.seeds.values()))
    by_block: dict[tuple[int, int], list[Cell]] = {}
    for cell in _cells(sweep, most):
        by_block.setdefault((cell.first_seed, cell.seeds), []).append(cell)
    done = 0
    for (first, seeds), cells in sorted(by_block.items()):
        if not _is_done(cells, store):
            break
        done = first + seeds
    return done


def decide(claim: Claim, store: Store, plan: Plan, scale: str | None = None) -> Decision:
    """Check a claim on what a store holds."""
    if claim.sweep is None:
        return Decision(claim, claim.check(), plan, None)
    plan = plan_for(claim.sweep, store, plan, scale)
    table = _table(claim.sweep, plan, store)
    if table is None:
        return Decision(claim, Finding("", float("nan"), "not run"), plan, None)
    try:
        finding = claim.check(table)
    except NotMeasuredError as error:
        return Decision(claim, Finding("", float("nan"), "not run", note=str(error)), plan, None)
    return Decision(claim, finding, plan, table["seed"].n_unique())


class NothingToDrawError(LabError):
    """The runs, changed by the user, have nothing that a figure shows."""


@dataclass(frozen=True)
class Drawn:
    """A figure's files, by suffix, and the SHA-256 of the numbers behind it."""

    figure: Figure
    plan: Plan
    files: dict[str, Path]
    sha256: str

    @property
    def command(self) -> str:
        if self.figure.sweep is None:
            return f"delightful figure {self.figure.id}"
        return command("figure", self.figure.id, self.plan)


def draw(
    figure: Figure, store: Store, plan: Plan, folder: Path, asked: Plan | None = None
) -> Drawn:
    """Write a figure's PNG, SVG and CSV.

    A figure of changed runs has the change in its file names and in a subtitle.
    """
    table, change = None, Plan()
    if figure.sweep is not None:
        change = asked or plan
        table = _table(figure.sweep, plan, store)
        if table is None:
            needed = command("run", figure.sweep.name, plan)
            raise LabError(f"figure {figure.id} needs runs that are missing: give `{needed}`.")
    with style.context():
        try:
            drawing = figure.draw() if table is None else figure.draw(table)
        except NotMeasuredError as error:
            raise NothingToDrawError(f"figure {figure.id} cannot be drawn: {error}.") from None
        if changes := _changes(change):
            style.subtitle(drawing.figure, f"changed: {' · '.join(changes)}")
        png, svg = style.images(drawing.figure)
    if drawing.numbers.is_empty():
        raise NothingToDrawError(
            f"figure {figure.id} has nothing to draw in these runs: none is of what it compares."
        )
    numbers = drawing.numbers.write_csv().encode()
    name = _file_name(figure, change)
    files = {suffix: folder / f"{name}.{suffix}" for suffix in ("png", "svg", "csv")}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, data in (("png", png), ("svg", svg), ("csv", numbers)):
            write_whole(files[suffix], data)
    except OSError as error:
        raise cannot_write(folder, error) from None
    return Drawn(figure, plan, files, hashlib.sha256(numbers).hexdigest())


def _changes(plan: Plan) -> list[str]:
    """How a plan differs from the paper's, in words."""
    words = [f"{name} = {value}" for name, value in plan.changes.items()]
    words += [", ".join(plan.methods)] if plan.methods else []
    return words + ([f"seeds = {plan.seeds}"] if plan.seeds else [])


def _file_name(figure: Figure, plan: Plan) -> str:
    """Such as bandit-curves, or bandit-curves--batch-10--pg-awr of a changed plan."""
    parts = [figure.id.replace("/", "-"), *_changes(plan)]
    words = [re.sub(r" = |, |[^A-Za-z0-9.+_-]", "-", part) for part in parts]
    name = "--".join(words)
    if len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return name
