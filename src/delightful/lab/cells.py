"""Cells and sweeps: what is to be run, as data.

A program turns a config and some seeds into curves. A cell is one config and one block of seeds:
the unit of work, of storage and of distribution. A sweep says which cells a figure or a claim
needs at each scale; a plan is the user's wish to see that sweep changed.
"""

import dataclasses
import hashlib
import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from delightful.lab.config import Config, canonical, change, has_method
from delightful.lab.errors import LabError, unknown

SCALES = ("smoke", "quick", "paper")
DEFAULT = "default"  # what a point varies that is on no grid

Curves = Mapping[str, np.ndarray]
"""`step` of shape (records,), and each metric of shape (seeds, records)."""


@dataclass(frozen=True)
class Program:
    """A function (config, seeds) -> curves, by name, with a version that changes its cells' ids."""

    name: str
    version: int
    entry: str  # "module:function", imported only where it runs
    block: int  # seeds per cell
    start: float  # seconds before the first seed runs, on the reference machine: compiling
    seconds: Callable[[Config], float]  # and for each seed; both for estimates only
    prepare: str = ""  # "module:function" that is to be called once before any cell runs
    # For one that can go on after it was stopped, from a folder that its entry takes too:
    # "module:function" (config, seeds, folder) -> how much of them has been done, from 0 to 1
    share: str = ""

    def make_ready(self) -> None:
        """Fetch what the program needs, such as a data set, once for all processes."""
        if self.prepare:
            named(self.prepare)()

    def run(self, config: Config, seeds: np.ndarray, folder: Path | None = None) -> Curves:
        more = (folder,) if self.share else ()
        curves: Curves = named(self.entry)(config, seeds, *more)
        return curves


def named(entry: str) -> Callable[..., Any]:
    """The function that "module:function" names."""
    module, _, name = entry.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


@dataclass(frozen=True)
class Cell:
    program: Program
    config: Config
    first_seed: int
    seeds: int
    # What it is there for in its sweep, as in Point; no part of its key.
    role: str = field(default="main", compare=False)
    varied: tuple[str, ...] = field(default=(DEFAULT,), compare=False)

    @cached_property
    def key(self) -> dict[str, Any]:
        """What the cell is, as JSON; two cells with equal keys are the same work."""
        return {
            "program": self.program.name,
            "version": self.program.version,
            "config": dataclasses.asdict(self.config),
            "first_seed": self.first_seed,
            "seeds": self.seeds,
        }

    @cached_property
    def id(self) -> str:
        return digest(self.key)

    def __str__(self) -> str:
        last = self.first_seed + self.seeds - 1
        words = [getattr(self.config, name, "") for name in ("task", "method")]
        what = " ".join([self.program.name, *filter(None, words)])
        return f"{what} seeds {self.first_seed}–{last}"

    def run(self, folder: Path | None = None) -> Curves:
        """folder: where a program that can go on keeps what it needs for that."""
        return self.program.run(self.config, self._numbers, folder)

    def share(self, folder: Path) -> float:
        """How much of it has been done, from 0 to 1, by what is in that folder."""
        if not self.program.share:
            return 0.0
        return float(named(self.program.share)(self.config, self._numbers, folder))

    @property
    def _numbers(self) -> np.ndarray:
        return np.arange(self.first_seed, self.first_seed + self.seeds)


def digest(key: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON."""
    text = json.dumps(key, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Plan:
    """What the user asked for: a scale, and how the sweep is to differ from the paper's."""

    scale: str = "quick"
    seeds: int | None = None
    methods: tuple[str, ...] = ()
    changes: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.seeds is not None and self.seeds < 1:
            raise LabError(f"--seeds must be at least 1, got {self.seeds}.")
        if self.seeds is not None and self.seeds > 1_000_000:
            raise LabError(f"--seeds must be at most 1000000, got {self.seeds}.")

    @property
    def options(self) -> str:
        """The command-line options that give this plan."""
        words = [f"--scale {self.scale}"]
        words += [f"--seeds {self.seeds}"] if self.seeds else []
        words += [f"--method {method}" for method in self.methods]
        words += [f"--set {name}={value}" for name, value in self.changes.items()]
        return " ".join(words)


class Point(NamedTuple):
    """One config of a sweep, and what it is there for. Figures and claims select runs by it."""

    config: Config
    role: str = "main"  # the method that a section is about; or "rival", "oracle", "third-party"
    varied: str = DEFAULT  # the quantity that differs from the defaults, in a grid
    program: Program | None = None  # by default the sweep's


@dataclass(frozen=True)
class Sweep:
    """The cells that a figure or claim needs: points and seeds, at each scale."""

    name: str
    program: Program
    points: Callable[[str], list[Point]]  # scale -> points
    seeds: Mapping[str, int]  # scale -> number of seeds
    needs: tuple[str, ...] = ()  # packages that running it imports, beyond the lab's
    extra: str = ""  # of ours, which installs them
    in_part: bool = False  # whether figures and claims can use what has been run, if not all has
    fixed: tuple[str, ...] = ()  # fields that --set may not change, since a baseline shares them

    @property
    def missing(self) -> str:
        """What must be installed before it can run, as a sentence; empty if nothing."""
        absent = [package for package in self.needs if find_spec(package) is None]
        if not absent:
            return ""
        names = " and ".join(absent)
        return f"{self.name} needs {names}: pip install 'delightful-rl[lab,{self.extra}]'"

    @property
    def fields(self) -> list[str]:
        """The names of its configs' fields."""
        names = (f.name for p in self.points("smoke") for f in dataclasses.fields(p.config))
        return list(dict.fromkeys(names))

    def cells(self, plan: Plan) -> list[Cell]:
        """The cells of a plan; a config that is on several grids is one cell."""
        self._check_changes(plan.changes)
        points = self.points(plan.scale)
        if plan.methods:
            points = _with_methods(points, plan.methods)
        found: dict[tuple[Program, Config, str], dict[str, None]] = {}
        try:
            for config, role, varied, program in points:
                fields = {f.name for f in dataclasses.fields(config)}
                mine = {name: text for name, text in plan.changes.items() if name in fields}
                changed = canonical(change(config, mine, self.name))
                found.setdefault((program or self.program, changed, role), {})[varied] = None
        except ValueError as error:
            raise LabError(f"{error}.") from None
        total = plan.seeds or self.seeds[plan.scale]
        return [
            Cell(program, config, first, min(program.block, total - first), role, tuple(varied))
            for (program, config, role), varied in found.items()
            for first in range(0, total, program.block)
        ]

    def _check_changes(self, changes: Mapping[str, str]) -> None:
        known = self.fields if changes else []
        for name in changes:
            if name not in known:
                raise unknown(f"field of {self.name}", name, known)
            if name in self.fixed:
                raise LabError(
                    f"{name} cannot be changed in {self.name}: its third-party baseline has the "
                    "default; name the other sweeps alone."
                )


def _with_methods(points: list[Point], specs: Sequence[str]) -> list[Point]:
    """The points with other methods in place of their own.

    A method that the sweep has settings for keeps these; any other takes those of the main method.
    Points without a method, of third-party baselines, stay.
    """
    ours = [point for point in points if has_method(point.config)]
    main = next((p for p in ours if p.role == "main"), ours[0]).config.method
    found = [point for point in points if not has_method(point.config)]
    for spec in specs:
        own = [point for point in ours if _name(point.config.method) == _name(spec)]
        for point in own or [p for p in ours if _name(p.config.method) == _name(main)]:
            role = point.role if own else "rival"
            found.append(point._replace(config=replace(point.config, method=spec), role=role))
    return found


def _name(spec: str) -> str:
    return spec.partition(":")[0]
