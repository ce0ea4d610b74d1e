"""Cells and sweeps: what is to be run, as data.

A program turns a config and some seeds into curves. A cell is one config and one block of seeds:
the unit of work, of storage and of distribution. A sweep says which cells a figure or a claim
needs at each scale; a plan is the user's wish to see that sweep changed.
"""

import dataclasses
import hashlib
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from delightful.lab.config import Config, canonical, change, has_method
from delightful.lab.errors import LabError

SCALES = ("smoke", "quick", "paper")

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
        method = self.config.method if has_method(self.config) else "another's"
        task = f" {self.config.task}" if hasattr(self.config, "task") else ""
        return f"{self.program.name}{task} {method} seeds {self.first_seed}–{last}"

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


@dataclass(frozen=True)
class Sweep:
    """The cells that a figure or claim needs: configs and seeds, at each scale."""

    name: str
    program: Program
    configs: Callable[[str], list[Config]]  # scale -> configs
    seeds: Mapping[str, int]  # scale -> number of seeds
    needs: tuple[str, ...] = ()  # packages that running it imports, beyond the lab's
    extra: str = ""  # of ours, which installs them
    in_part: bool = False  # whether figures and claims can use what has been run, if not all has
    beside: "Sweep | None" = None  # another, whose runs its figures and claims need too

    @property
    def missing(self) -> str:
        """What must be installed before it can run, as a sentence; empty if nothing."""
        absent = [package for package in self.needs if find_spec(package) is None]
        if not absent:
            return ""
        names = " and ".join(absent)
        return f"{self.name} needs {names}: pip install 'delightful-rl[lab,{self.extra}]'"

    def cells(self, plan: Plan) -> list[Cell]:
        configs = self.configs(plan.scale)
        if plan.methods:
            ours = [c for c in configs if has_method(c)]
            others = [c for c in configs if not has_method(c)]
            configs = [dataclasses.replace(c, method=m) for c in ours for m in plan.methods]
            configs += others
        try:
            configs = [canonical(change(c, plan.changes, self.name)) for c in configs]
        except ValueError as error:
            raise LabError(f"{error}.") from None
        total = plan.seeds or self.seeds[plan.scale]
        more = self.beside.cells(plan) if self.beside else []
        return more + [
            Cell(self.program, config, first, min(self.program.block, total - first))
            for config in dict.fromkeys(configs)
            for first in range(0, total, self.program.block)
        ]
