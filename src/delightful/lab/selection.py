"""Which of a store's runs figures and claims use: at the scale that was asked for, or the largest
that the store can show."""

import functools
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from delightful.lab.cells import SCALES, Cell, Plan, Sweep
from delightful.lab.store import DamagedError, Store
from delightful.lab.verdicts import looks


def plan_for(
    sweep: Sweep | None, store: Store, plan: Plan, scale: str | None, least: int = 1
) -> Plan:
    """The plan at the asked scale; with none asked, at the largest that the store can show.

    A scale can be shown if it is complete, or if it has more seeds than the next smaller scale
    asks for, or as many of other configs: a long run that was stopped counts with the seeds that it
    has for every config. A scale with fewer than `least` seeds is shown only if no smaller one has
    as many, smoke apart. Of a sweep that is used in part, it is the scale of which most has been
    run, smoke if nothing else.
    """
    if sweep is None:
        return plan
    if scale is not None:  # not every sweep has a brief scale
        return plan if plan.scale in sweep.seeds else replace(plan, scale="quick")
    if sweep.in_part:
        return _most_run(sweep, store, plan)
    scales = [scale for scale in SCALES if scale in sweep.seeds]
    largest: Plan | None = None
    for name, smaller in zip(reversed(scales), (*reversed(scales[:-1]), None), strict=True):
        found = _shown(sweep, store, replace(plan, scale=name), smaller)
        if found is None or (largest and name == SCALES[0]):
            continue
        if (found.seeds or sweep.seeds[name]) >= least:
            return found
        largest = largest or found
    return largest or plan


def _shown(sweep: Sweep, store: Store, plan: Plan, smaller: str | None) -> Plan | None:
    """The plan with the seeds that can be shown at its scale; None if there are too few."""
    asked = sweep.seeds[plan.scale]
    if plan.seeds is not None:
        return plan if _is_done(_cells(sweep, plan), store) else None
    seeds = _seeds_done(sweep, store, plan)
    if seeds > asked:
        return replace(plan, seeds=seeds)
    if seeds == asked or _is_done(_cells(sweep, plan), store):
        return plan
    if smaller and seeds > sweep.seeds[smaller] - _differ(sweep, plan.scale, smaller):
        return replace(plan, seeds=seeds)
    return None


def from_paper(sweep: Sweep, plan: Plan) -> str:
    """How the runs of a plan differ from the paper's, in words; empty if they do not."""
    ours, papers = (
        {cell.config for cell in _cells(sweep, one)} for one in (plan, Plan("paper", plan.seeds))
    )
    if not ours <= papers:
        return "some of them shorter or smaller than the paper's"
    return f"{len(ours)} of the paper's {len(papers)} configs" if ours < papers else ""


def usable(sweep: Sweep, plan: Plan, store: Store) -> list[Cell]:
    """The stored cells that figures and claims use; raises DamagedError, so that none is quietly
    done without."""
    if damaged := damage(sweep, plan, store):
        raise DamagedError(damaged)
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


def table_of(sweep: Sweep, plan: Plan, store: Store) -> pl.DataFrame | None:
    """The table of the usable cells, None if there is none; claims on one sweep share it."""
    roles = [(cell, cell.role, cell.varied) for cell in usable(sweep, plan, store)]
    return _read(store, tuple(roles))


@functools.lru_cache(maxsize=4)
def _read(
    store: Store, roles: tuple[tuple[Cell, str, tuple[str, ...]], ...]
) -> pl.DataFrame | None:
    return store.table(cell for cell, *_ in roles)


def _most_run(sweep: Sweep, store: Store, plan: Plan) -> Plan:
    """The scale of which most is stored, with as many seeds as any of its configs has."""
    found = []
    for scale in (scale for scale in SCALES if scale in sweep.seeds):
        candidate = replace(plan, scale=scale)
        if plan.seeds is None:
            most = replace(candidate, seeds=looks(sweep.seeds["paper"])[-1])
            stored = [cell for cell in _cells(sweep, most) if store.state(cell) != "missing"]
            last = max((cell.first_seed + cell.seeds for cell in stored), default=0)
            if last > sweep.seeds[scale]:
                candidate = most if last == most.seeds else replace(most, seeds=last)
        else:
            stored = [cell for cell in _cells(sweep, candidate) if store.state(cell) != "missing"]
        found.append((scale != SCALES[0], len(stored), candidate))
    rank = max(found, key=lambda one: (one[1] > 0 and one[0], one[1]))
    return rank[2] if rank[1] else plan


def _differ(sweep: Sweep, scale: str, smaller: str) -> bool:
    """Whether a scale has other configs than a smaller one."""
    return sweep.points(scale) != sweep.points(smaller)


def _is_done(cells: Sequence[Cell], store: Store) -> bool:
    """Whether all cells are stored; a damaged one counts, so that none is quietly done without."""
    return all(store.state(cell) != "missing" for cell in cells)


def damage(sweep: Sweep, plan: Plan, store: Store) -> str | None:
    """A sentence that names the damaged files among the cells of a plan; None if there are none."""
    harms = [store.damage(cell) for cell in _cells(sweep, plan) if store.state(cell) == "damaged"]
    if not harms:
        return None
    more = f", and {len(harms) - 1} more of its sweep" if len(harms) > 1 else ""
    return f"{harms[0]}{more}; `delightful run {sweep.name} {plan.options}` runs it again."


def _seeds_done(sweep: Sweep, store: Store, plan: Plan) -> int:
    """How many seeds, from the first on, every config has in whole blocks."""
    most = replace(plan, seeds=looks(sweep.seeds["paper"])[-1])
    by_block: dict[tuple[int, int], list[Cell]] = {}
    for cell in _cells(sweep, most):
        by_block.setdefault((cell.first_seed, cell.seeds), []).append(cell)
    done = 0
    for (first, seeds), cells in sorted(by_block.items()):
        if not _is_done(cells, store):
            break
        done = first + seeds
    return done
