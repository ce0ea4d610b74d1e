"""Results: figures drawn and claims decided from what a store holds."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from delightful.lab import style
from delightful.lab.cells import SCALES, Cell, Plan, Sweep
from delightful.lab.errors import LabError
from delightful.lab.experiment import Claim, Figure, Finding, NotMeasuredError, command
from delightful.lab.store import Store, cannot_write, write_whole


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
    """JSON has no NaN; what one seed cannot tell is null."""
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
            if _is_done(sweep.cells(candidate), store):
                return candidate
            continue
        seeds = _seeds_done(sweep, store, candidate)
        if seeds > sweep.seeds[name]:
            return replace(candidate, seeds=seeds)
        if seeds == sweep.seeds[name] or _is_done(sweep.cells(candidate), store):
            return candidate
        if smaller and seeds > sweep.seeds[smaller]:
            return replace(candidate, seeds=seeds)
    return plan


def usable(sweep: Sweep, plan: Plan, store: Store) -> list[Cell]:
    """The cells that figures and claims are to use: all of them, or those that have been run if
    that is enough; none if it is not."""
    cells = sweep.cells(plan)
    done = [cell for cell in cells if store.state(cell) == "done"]
    return done if sweep.in_part or len(done) == len(cells) else []


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
    for cell in sweep.cells(most):
        by_block.setdefault((cell.first_seed, cell.seeds), []).append(cell)
    done = 0
    for (first, seeds), cells in sorted(by_block.items()):
        if not _is_done(cells, store):
            break
        done = first + seeds
    return done


def decide(claim: Claim, store: Store, plan: Plan, scale: str | None = None) -> Decision:
    """Check a claim on what the store holds; "not run" if that is not all it needs."""
    if claim.sweep is None:
        return Decision(claim, claim.check(), plan, None)
    plan = plan_for(claim.sweep, store, plan, scale)
    table = store.table(usable(claim.sweep, plan, store))
    if table is None:
        return Decision(claim, Finding("", float("nan"), "not run"), plan, None)
    try:
        finding = claim.check(table)
    except NotMeasuredError as error:
        return Decision(claim, Finding("", float("nan"), "not run", note=str(error)), plan, None)
    return Decision(claim, finding, plan, table["seed"].n_unique())


class NothingToDrawError(LabError):
    """The runs at hand, changed by the user, have nothing of what a figure shows."""


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


def draw(figure: Figure, store: Store, plan: Plan, folder: Path) -> Drawn:
    """Write a figure's PNG, SVG and CSV into `folder`."""
    table = None
    if figure.sweep is not None:
        table = store.table(usable(figure.sweep, plan, store))
        if table is None:
            needed = command("run", figure.sweep.name, plan)
            raise LabError(f"figure {figure.id} needs runs that are missing: give `{needed}`.")
    with style.context():
        try:
            drawing = figure.draw() if table is None else figure.draw(table)
        except NotMeasuredError as error:
            raise NothingToDrawError(f"figure {figure.id} cannot be drawn: {error}.") from None
        png, svg = style.images(drawing.figure)
    if drawing.numbers.is_empty():
        raise NothingToDrawError(
            f"figure {figure.id} has nothing to draw in these runs: none is of what it compares."
        )
    numbers = drawing.numbers.write_csv().encode()
    name = figure.id.replace("/", "-")
    files = {suffix: folder / f"{name}.{suffix}" for suffix in ("png", "svg", "csv")}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, data in (("png", png), ("svg", svg), ("csv", numbers)):
            write_whole(files[suffix], data)
    except OSError as error:
        raise cannot_write(folder, error) from None
    return Drawn(figure, plan, files, hashlib.sha256(numbers).hexdigest())


def claims_markdown(decisions: Sequence[Decision]) -> str:
    """The claims as a Markdown table, as README and docs show it."""
    lines = [
        "| the paper says | paper | here, with 95% interval | verdict | command |",
        "|---|---|---|---|---|",
    ]
    for decision in decisions:
        claim, finding = decision.claim, decision.finding
        value = f"{finding.measures}: {finding.text}" if finding.measures else ""
        note = f" ({finding.note})" if finding.note else ""
        cells = (f"{claim.sentence} ({claim.where})", claim.paper, value + note, finding.verdict)
        texts = [cell.replace("|", "\\|").replace("*", "\\*") for cell in cells]
        lines.append(f"| {' | '.join(texts)} | `{decision.command}` |")
    return "\n".join(lines) + "\n"
