"""What the options and names of a command line mean."""

import contextlib
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from delightful.lab.cells import Cell, Plan, Sweep
from delightful.lab.cost import forecast
from delightful.lab.errors import LabError, unknown
from delightful.lab.experiment import Experiment
from delightful.lab.runners import LocalRunner, Runner, cores
from delightful.lab.runners.ray import RayRunner
from delightful.lab.selection import usable
from delightful.lab.store import Store, default_folder
from delightful.paper import EXPERIMENTS
from delightful.registry import find_method


def store_of(options: Namespace) -> Store:
    """The store of --store, of $DELIGHTFUL_STORE, or results/; with those of --stored."""
    for folder in options.stored:
        if not Path(folder, "cells").is_dir():
            raise LabError(f"--stored must be a results folder, with cells in it, got {folder!r}.")
    return Store(options.store or default_folder(), options.stored)


def changes_of(options: Namespace) -> dict[str, str]:
    """The fields and values of --set."""
    changes = {}
    for item in options.set:
        name, equals, value = item.partition("=")
        if not equals:
            raise LabError(f"--set must read FIELD=VALUE, got {item!r}.")
        changes[name] = value
    return changes


def plan_of(options: Namespace) -> Plan:
    """The plan of --scale, --seeds, --method, --set and --import."""
    for spec in options.method:
        try:
            find_method(spec.partition(":")[0])
        except ValueError as error:
            raise LabError(f"{error}.") from None
    methods, imports = tuple(options.method), tuple(options.imports)
    changes = preset(options.preset) | changes_of(options)
    return Plan(options.scale or "quick", options.seeds, methods, changes, imports)


def preset(name: str | None) -> dict[str, str]:
    """The fields and values of --preset, as --set would give them."""
    presets = {name: fields for e in EXPERIMENTS.values() for name, fields in e.presets.items()}
    if name is None:
        return {}
    if name not in presets:
        raise unknown("preset", name, presets)
    return {field: str(value).lower() for field, value in presets[name].items()}


def workers_of(options: Namespace) -> int:
    """The number of processes."""
    workers: int = cores() if options.workers is None else options.workers
    if workers < 1:
        raise LabError(f"--workers must be at least 1, got {workers}.")
    return workers


@contextlib.contextmanager
def runner_of(options: Namespace) -> Iterator[Runner]:
    """The runner of --workers, --ray and --ray-address; what it started is stopped at the end."""
    workers = workers_of(options)
    if options.ray:
        with RayRunner(options.ray_address, options.workers) as runner:
            yield runner
    elif options.ray_address:
        raise LabError("--ray-address says which Ray runs the cells: give it together with --ray.")
    else:
        yield LocalRunner(workers)


def experiments(names: Iterable[str]) -> list[Experiment]:
    """Experiments by name; all for no name."""
    for name in names:
        if name not in EXPERIMENTS:
            raise unknown("experiment", name, EXPERIMENTS)
    return [EXPERIMENTS[name] for name in dict.fromkeys(names)] or list(EXPERIMENTS.values())


def known(kind: str) -> dict[str, Any]:
    """All "sweeps", "figures" or "claims", by id."""
    items = (item for experiment in EXPERIMENTS.values() for item in getattr(experiment, kind))
    return {getattr(item, "id", None) or item.name: item for item in items}


def pick(names: Iterable[str], kind: str, called: str) -> list[Any]:
    """Sweeps, figures or claims by their own id or their experiment's name; all for no name."""
    items = known(kind)
    picked: dict[str, Any] = {}
    for name in names:
        if name in EXPERIMENTS:
            picked |= {key: item for key, item in items.items() if key.startswith(f"{name}/")}
        elif name in items:
            picked[name] = items[name]
        else:
            raise unknown(called, name, [*EXPERIMENTS, *items])
    return list((picked if names else items).values())


def runnable(sweeps: list[Sweep], plan: Plan, store: Store, asked: Iterable[str]) -> list[Cell]:
    """The cells of all sweeps that can run here."""
    return [c for s in sweeps if can_run(s, plan, store, s.name in asked) for c in s.cells(plan)]


def dry_run(cells: Sequence[Cell], store: Store, options: Namespace) -> None:
    """Print what running the cells would cost; on stderr, which of them are damaged."""
    for harm in filter(None, dict.fromkeys(map(store.damage, cells))):
        print(f"{harm}; it would be run again.", file=sys.stderr)
    print(forecast(cells, store, workers_of(options)))


def say_left_out(sweep: Sweep) -> None:
    """Say on stderr what a sweep needs that is not installed."""
    print(f"left out: {sweep.missing}", file=sys.stderr)


def can_run(
    sweep: Sweep,
    plan: Plan,
    store: Store,
    asked: bool,
    *,
    draws: bool = False,
    say: Callable[[Sweep], None] = say_left_out,
) -> bool:
    """Whether the packages that a sweep needs are installed, or all of it has been run.

    If not, an error says what to install where the user `asked` for the sweep; elsewhere `say`
    does. A sweep that `draws` may need but a part of its runs.
    """
    done = not sweep.missing or all(store.state(cell) == "done" for cell in sweep.cells(plan))
    if done or (draws and usable(sweep, plan, store)):
        return True
    if asked:
        raise LabError(f"{sweep.missing}.")
    say(sweep)
    return False
