"""Which of a store's runs figures and claims use: at the scale that was asked for, or the largest
that the store can show."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from delightful.lab.cells import SCALES, Cell, Plan, Sweep
from delightful.lab.config import Config
from delightful.lab.experiment import command
from delightful.lab.store import DamagedError, Store
from delightful.lab.verdicts import LEAST, looks
from delightful.lab.wording import plural


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
        words = filter(None, (_instead(ours, papers), _without(ours, papers)))
        return ", ".join(words) or "other configs than the paper's"
    return f"{len(ours)} of the paper's {len(papers)} configs" if ours < papers else ""


def runs_shown(sweep: Sweep, plan: Plan, store: Store) -> str:
    """What a figure shows of the stored runs, such as "3 seeds; 9 of the paper's 67 configs"."""
    fewest = most = plan.seeds or sweep.seeds[plan.scale]
    differs = from_paper(sweep, plan)
    if sweep.in_part:
        seeds: Counter[Config] = Counter()
        for cell in usable(sweep, plan, store):
            seeds[cell.config] += cell.seeds
        fewest, most = min(seeds.values()), max(seeds.values())
        whole = len({cell.config for cell in _cells(sweep, replace(plan, scale="paper"))})
        differs = f"{len(seeds)} of {whole} configs" if len(seeds) < whole else ""
    numbers = f"{most}" if fewest == most else f"{fewest} to {most}"
    words = f"{numbers} {'seed' if most == 1 else 'seeds'}"
    return f"{words}; {differs}" if differs else words


def lacking(sweep: Sweep, plan: Plan) -> str:
    """How many of the paper's settings a plan has, as a reason for no verdict; empty if all."""
    papers = {cell.config for cell in _cells(sweep, replace(plan, scale="paper"))}
    ours = papers & {cell.config for cell in _cells(sweep, plan)}
    if ours == papers:
        return ""
    count = len(ours) or "none"
    were, others = "were" if len(ours) > 1 else "was", "the others" if ours else "they"
    whole = f"{count} of the paper's {plural(len(papers), 'config')} {were} run"
    return f"{whole}, and {others} could turn the verdict"


def _without(ours: Iterable[Config], papers: Iterable[Config]) -> str:
    """The values of the paper's that were left out, such as "without width 2,048"."""
    words = []
    for name in dict.fromkeys(name for config in papers for name in _numbers(config)):
        mine, theirs = (
            {found[name] for found in map(_numbers, some) if name in found}
            for some in (ours, papers)
        )
        if name not in _SIZES and mine & theirs and (gone := sorted(theirs - mine)):
            words.append(f"{name.replace('_', ' ')} {', '.join(f'{x:,}' for x in gone)}")
    return f"without {' and '.join(words)}" if words else ""


def _instead(ours: Iterable[Config], papers: Iterable[Config]) -> str:
    """The values that the paper does not use, such as "runs of 400 steps instead of 10,000"."""
    words = []
    for name in dict.fromkeys(name for config in ours for name in _numbers(config)):
        mine, theirs = (
            sorted({found[name] for found in map(_numbers, some) if name in found})
            for some in (ours, papers)
        )
        others = [value for value in mine if value not in theirs]
        if others and name not in _NOT_WORK:
            texts = [", ".join(f"{x:,}" for x in values) for values in (others, theirs)]
            some = "some " if len(others) < len(mine) else ""
            said = "{some}runs of {0} steps" if name == "steps" else "{some}runs with {name} {0}"
            words.append(f"{said} instead of {{1}}".format(*texts, some=some, name=name))
    return ", ".join(words)


_NOT_WORK = ("records",)  # how often a run is measured, not what is run
_SIZES = (*_NOT_WORK, "steps")  # what makes a run shorter than the paper's is said before


def _numbers(config: Config) -> dict[str, float]:
    """The numeric fields of a config."""
    return {k: v for k, v in dataclasses.asdict(config).items() if isinstance(v, int | float)}


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
    """A sentence that names the first damaged file among the cells of a plan, and the command that
    runs it again; None if there are none."""
    harms = [store.damage(cell) for cell in _cells(sweep, plan) if store.state(cell) == "damaged"]
    if not harms:
        return None
    again = command("run", sweep.name, plan, where(sweep, plan, store))
    more = f", and {len(harms) - 1} more of its sweep" if len(harms) > 1 else ""
    return f"{harms[0]}{more}; `{again}` runs it again."


def where(sweep: Sweep, plan: Plan, store: Store) -> str:
    """The options that name the stores of a plan's cells, for a command that runs or reads them."""
    return store.options(store.others(_cells(sweep, plan)))


def partly_stored(sweep: Sweep, plan: Plan, store: Store) -> str:
    """How many seeds of a plan are stored, where it lacks some; empty if there are none."""
    asked = plan.seeds or sweep.seeds[plan.scale]
    seeds = _seeds_done(sweep, store, plan)
    if not 0 < seeds < asked:
        return ""
    option = "--seeds" if plan.seeds else "--scale"
    free = plan_for(sweep, store, replace(plan, seeds=None), None, least=LEAST)
    used = (free.scale, free.seeds) == (plan.scale, seeds)
    words = f"{seeds} of {asked} seeds are stored"
    return f"{words}; without {option} they are used" if used else words


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
