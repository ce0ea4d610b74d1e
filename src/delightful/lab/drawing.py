"""Figures drawn from what a store holds."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from delightful.lab import style
from delightful.lab.cells import Plan
from delightful.lab.errors import LabError
from delightful.lab.experiment import Figure, command
from delightful.lab.selection import runs_shown, table_of, where
from delightful.lab.series import Series
from delightful.lab.store import Store, cannot_write, write_whole
from delightful.lab.verdicts import NotMeasuredError

LONGEST_NAME = 100  # characters of a figure's file name, before a digest of what is cut off


class NothingToDrawError(LabError):
    """The runs, changed by the user, have nothing that a figure shows."""


@dataclass(frozen=True)
class Drawn:
    """A figure's files, by suffix, the SHA-256 of the numbers behind it, and what it shows."""

    figure: Figure
    plan: Plan
    files: dict[str, Path]
    sha256: str
    values: Sequence[Series] = ()  # with their places in the picture
    store: str = ""  # the options that name the stores of its runs
    runs: str = ""  # how many seeds it shows, and how its runs differ from the paper's, in words

    @property
    def command(self) -> str:
        if self.figure.sweep is None:
            return f"delightful figure {self.figure.id}"
        return command("figure", self.figure.id, self.plan, self.store)


def draw(
    figure: Figure, store: Store, plan: Plan, folder: Path, asked: Plan | None = None
) -> Drawn:
    """Write a figure's PNG, SVG and CSV.

    A figure of changed runs has the change in its file names and in a subtitle.
    """
    table, change, place, runs = None, Plan(), "", ""
    if figure.sweep is not None:
        change, place = asked or plan, where(figure.sweep, plan, store)
        table = table_of(figure.sweep, plan, store)
        if table is None:
            needed = command("run", figure.sweep.name, plan, place)
            raise LabError(f"figure {figure.id} needs runs that are missing: give `{needed}`.")
        runs = runs_shown(figure.sweep, plan, store)
    with style.context():
        try:
            drawing = figure.draw() if table is None else figure.draw(table)
        except NotMeasuredError as error:
            raise NothingToDrawError(f"figure {figure.id} cannot be drawn: {error}.") from None
        if changes := _changes(change):
            style.subtitle(drawing.figure, f"changed: {' · '.join(changes)}")
        png, svg, values = style.images(drawing.figure)
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
    sha256 = hashlib.sha256(numbers).hexdigest()
    return Drawn(figure, plan, files, sha256, values, place, runs)


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
