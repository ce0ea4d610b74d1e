"""Cells and sweeps: what is to be run, as data.

A program turns a config and some seeds into curves. A cell is one config and one block of seeds:
the unit of work, of storage and of distribution. A sweep says which cells a figure or a claim
needs at each scale. A plan holds what the user asked for: the scale, and changes to the sweep.
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

from delightful.lab.config import Config, canonical, change, has_method, identity
from delightful.lab.errors import LabError, install, unknown

SCALES = ("smoke", "brief", "quick", "paper")
DEFAULT = "default"  # what a point varies that is on no grid

Curves = Mapping[str, np.ndarray]
"""What a program returns: `step` of shape (records,), the same for all seeds, and each metric of
shape (seeds, records)."""


@dataclass(frozen=True)
class Program:
    """A function (config, seeds) -> Curves under a name.

    One that can resume takes (config, seeds, folder), and keeps its checkpoints in the folder.
    """

    name: str  # part of the ids of its cells
    version: int  # part of the ids too: a new one makes stored results of the old one unused
    entry: str  # the function as "module:function", imported only where it runs
    block: int  # seeds per cell
    start: float  # seconds for compiling on the reference machine, for estimates
    seconds: Callable[[Any], float]  # config -> seconds per seed, for estimates
    prepare: str = ""  # "module:function" to be called once before any cell runs
    share: str = ""  # if it can resume, such a function (config, seeds, folder) -> share done
    data: str = ""  # "module:name" of the DataSet that all cells read


def named(entry: str) -> Callable[..., Any]:
    """The function that "module:function" names."""
    module, _, name = entry.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


@dataclass(frozen=True)
class Cell:
    """One config of a program with a block of seeds."""

    program: Program
    config: Config
    first_seed: int
    seeds: int
    # Its purpose in the sweep, as in Point; not part of its key.
    role: str = field(default="main", compare=False)
    varied: tuple[str, ...] = field(default=(DEFAULT,), compare=False)
    needs: tuple[str, ...] = field(default=(), compare=False)  # packages, as in Sweep

    @cached_property
    def key(self) -> dict[str, Any]:
        """What the cell is, as JSON; two cells with equal keys are the same work."""
        return {
            "program": self.program.name,
            "version": self.program.version,
            "config": identity(self.config),
            "first_seed": self.first_seed,
            "seeds": self.seeds,
        }

    @cached_property
    def id(self) -> str:
        """SHA-256 of the key: the name of its files in a store."""
        return digest(self.key)

    def __str__(self) -> str:
        last = self.first_seed + self.seeds - 1
        words = [getattr(self.config, name, "") for name in ("task", "method")]
        what = " ".join([self.program.name, *filter(None, words)])
        return f"{what} seeds {self.first_seed}–{last}"

    def run(self, folder: Path | None = None) -> Curves:
        """Its curves; a program that can resume keeps its checkpoints in `folder`."""
        more = (folder,) if self.program.share else ()
        curves: Curves = named(self.program.entry)(self.config, self._numbers, *more)
        return curves

    def share(self, folder: Path) -> float:
        """The share of its work that the checkpoints in `folder` hold, from 0 to 1."""
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
    """What the user asked for: a scale, and changes to the sweep."""

    scale: str = "quick"
    seeds: int | None = None  # per config, in place of the scale's
    methods: tuple[str, ...] = ()  # specs, in place of the sweep's own
    changes: dict[str, str] = field(default_factory=dict)  # config fields and values, as text
    imports: tuple[str, ...] = ()  # modules that register some of the methods

    def __post_init__(self) -> None:
        if self.seeds is not None and not 1 <= self.seeds <= 1_000_000:
            bound = "at least 1" if self.seeds < 1 else "at most 1000000"
            raise LabError(f"--seeds must be {bound}, got {self.seeds}.")

    @property
    def options(self) -> str:
        """The command-line options that give this plan."""
        words = [f"--import {name}" for name in self.imports]
        words += [f"--scale {self.scale}"]
        words += [f"--seeds {self.seeds}"] if self.seeds else []
        words += [f"--method {method}" for method in self.methods]
        words += [f"--set {name}={value}" for name, value in self.changes.items()]
        return " ".join(words)


class Point(NamedTuple):
    """One config of a sweep, with its purpose, by which figures and claims select runs.

    Its role is one of:

    - main: the method that a section is about;
    - rival: a method that it is compared with, also any other that --method adds;
    - oracle: a method with the exact expectation in place of samples;
    - supervised: learning from the correct answers, which no policy gradient sees;
    - third-party: an agent of another codebase, which has no method of ours.
    """

    config: Any  # a Config, whose own fields sweeps read back
    role: str = "main"
    varied: str = DEFAULT  # on a grid, the quantity that differs from the defaults
    program: Program | None = None  # in place of the sweep's


@dataclass(frozen=True)
class Sweep:
    """The runs that a figure or claim needs: points and seeds, at each scale."""

    name: str  # "experiment/sweep"
    program: Program
    points: Callable[[str], list[Point]]  # of a scale
    seeds: Mapping[str, int]  # by scale; without "brief", it is at that scale as at quick
    needs: tuple[str, ...] = ()  # packages that running it imports, beyond the lab's
    extra: str = ""  # of this package, which installs them
    in_part: bool = False  # whether figures and claims can use a part of the runs
    fixed: tuple[str, ...] = ()  # fields that a third-party baseline shares: not for --set
    reading: str = ""  # how the paper is read, where its text can be read in several ways

    @property
    def missing(self) -> str:
        """What must be installed before it can run, as a sentence; empty if nothing."""
        return f"{self.name} needs {self.absent}" if self.absent else ""

    @property
    def absent(self) -> str:
        """The packages that are not installed, and what installs them; empty if all are."""
        names = " and ".join(package for package in self.needs if find_spec(package) is None)
        return f"{names}: {install(f'lab,{self.extra}')}" if names else ""

    @property
    def fields(self) -> list[str]:
        """The names of its configs' fields."""
        names = (f.name for p in self.points("smoke") for f in dataclasses.fields(p.config))
        return list(dict.fromkeys(names))

    def cells(self, plan: Plan) -> list[Cell]:
        """The cells of a plan; a config that is on several grids is one cell."""
        for name in plan.changes:
            if name not in self.fields:
                raise unknown(f"field of {self.name}", name, self.fields)
            if name in self.fixed:
                raise LabError(
                    f"{name} cannot be changed in {self.name}: its third-party baseline has the "
                    "default; name the other sweeps alone."
                )
        scale = plan.scale if plan.scale in self.seeds else "quick"
        points = self.points(scale)
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
        total = plan.seeds or self.seeds[scale]
        return [
            Cell(
                program,
                config,
                first,
                min(program.block, total - first),
                role,
                tuple(varied),
                self.needs,
            )
            for (program, config, role), varied in found.items()
            for first in range(0, total, program.block)
        ]


def _with_methods(points: list[Point], specs: Sequence[str]) -> list[Point]:
    """Replace the methods of the points by others.

    A method that is in the sweep keeps its settings there; any other method is a rival with the
    settings of the main method. Points without a method, of third-party baselines, stay.
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
