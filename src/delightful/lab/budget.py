"""A budget of time: which cells are run within it, and in which order."""

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from delightful.lab.cells import Cell, Plan, Sweep
from delightful.lab.cost import Speed, guess, makespan
from delightful.lab.decisions import Decision, whole_blocks
from delightful.lab.duration import duration
from delightful.lab.errors import LabError
from delightful.lab.experiment import Experiment
from delightful.lab.store import Store

_UNITS = {"s": 1, "m": 60, "h": 3600}


class Aim(NamedTuple):
    """What some cells are run for."""

    words: str
    cells: Sequence[Cell]
    whole: bool = True  # whether it is missed where one of the cells is left out


class Budget:
    """Time from now on, within which cells may be started that will probably end in it.

    Args:
        text: such as "90s", "10m", "1.5h", or "none" for no end.
    """

    def __init__(self, text: str) -> None:
        amount = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
        if text == "none":
            self.seconds = math.inf
        elif amount and float(amount[1]) > 0:
            self.seconds = float(amount[1]) * _UNITS[amount[2]]
        else:
            raise LabError(
                f"--budget must be a time such as 90s, 10m or 8h, or none, got {text!r}."
            )
        # The last report is written after the last run.
        self._reserved = 0.0 if text == "none" else min(30.0, 0.05 * self.seconds)
        self._start = time.monotonic()
        self.aims: Sequence[Aim] = ()  # what it is spent on, in this order
        self.sweeps: Sequence[Aim] = ()  # those that are started only if their first seeds fit
        self.decided = ""  # how many claims are, in words
        self.finished = 0  # cells, over all that was run within it

    @property
    def finite(self) -> bool:
        """Whether it ends."""
        return math.isfinite(self.seconds)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.seconds - self._reserved - (time.monotonic() - self._start)

    def reserve(self, seconds: float) -> None:
        """Keep as much for the last report as one has taken, at most a fifth of the whole."""
        if self.finite:
            self._reserved = max(self._reserved, min(seconds, 0.2 * self.seconds))

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0

    @property
    def share(self) -> float:
        """The part of a finite budget that is spent, from 0 to 1."""
        return 1 - max(0.0, self.left) / (self.seconds - self._reserved)

    def __str__(self) -> str:
        if not self.finite:
            return self.decided or "no budget"
        spent = f"{duration(max(0.0, self.left))} of {duration(self.seconds)} left to spend"
        return f"{spent}, {self.decided}" if self.decided else spent

    def affordable(
        self,
        cells: Iterable[Cell],
        done: Iterable[Cell],
        store: Store,
        skip: Callable[[Cell], None],
        slots: int = 1,
        say: Callable[[str], None] = lambda _: None,
    ) -> Iterator[Cell]:
        """The cells that will probably end within the budget when they are started.

        Args:
            cells: In the order in which they are run.
            done: Cells that tell how fast this machine is.
            store: Where they are.
            skip: Called with each of the others.
            slots: How many run at a time.
            say: Called in the end with a line on the sweeps that were left out, if any were.
        """
        timed, started = list(done), list[Cell]()
        speed, times = Speed(timed, store), dict[int, float]()  # to run first seeds; 0 if they fit
        sweeps: dict[Cell, list[int]] = {}
        for i, sweep in enumerate(self.sweeps):
            for cell in sweep.cells:
                sweeps.setdefault(cell, []).append(i)
        for cell in cells:
            finished = [one for one in started if store.state(one) == "done"]
            if finished:  # they tell how fast this machine is now
                timed += finished
                started = [one for one in started if one not in finished]
                speed = Speed(timed, store)
            for i in sweeps.get(cell, ()):
                if i not in times:
                    needed = _of_first_seeds(self.sweeps[i], speed, store, slots)
                    times[i] = needed if needed > self.left else 0.0
            of_none = cell in sweeps and all(times[i] for i in sweeps[cell])
            if of_none or speed.seconds(cell) > self.left:
                skip(cell)
            else:
                started.append(cell)
                yield cell
        out = {self.sweeps[i].words: duration(seconds) for i, seconds in times.items() if seconds}
        if out:
            named = ", ".join(f"{name} (about {time_})" for name, time_ in out.items())
            say(f"left out, since their first seeds did not fit into what was left: {named}")


def _of_first_seeds(sweep: Aim, speed: Speed, store: Store, slots: int) -> float:
    """Seconds until the first seeds of all configs of a sweep have been run: some of its configs
    alone would show little and decide nothing."""
    first = (cell for cell in sweep.cells if cell.first_seed == 0)
    return makespan(speed.each(cell for cell in first if store.state(cell) != "done"), slots)


def first_stages(
    experiments: Sequence[Experiment], plan: Plan, can_run: Callable[[Sweep, Plan], bool]
) -> list[list[Aim]]:
    """What every figure needs, a sweep at a time, the cheapest first: for those of the main text,
    then for all others, then for the main text's at the quick scale."""
    shown = {f.sweep.name for e in experiments for f in e.figures if f.sweep and not f.appendix}
    sweeps = [sweep for experiment in experiments for sweep in experiment.sweeps]
    main = [sweep for sweep in sweeps if sweep.name in shown]
    rest = [sweep for sweep in sweeps if sweep.name not in shown]
    stages = []
    for some, scale in ((main, "brief"), (rest, "quick"), (main, "quick")):
        its_plan = replace(plan, scale=scale)
        stage = [Aim(s.name, s.cells(its_plan)) for s in some if can_run(s, its_plan)]
        stages.append(sorted(stage, key=lambda aim: sum(map(guess, aim.cells))))
    return stages


def first_cells(stages: Iterable[Sequence[Aim]]) -> list[Cell]:
    """The cells of some stages, in each of them the first seeds of every sweep first."""
    by_stage = ([cell for aim in stage for cell in aim.cells] for stage in stages)
    return [cell for its in by_stage for cell in sorted(its, key=lambda cell: cell.first_seed)]


def next_aims(
    decisions: Sequence[Decision], store: Store, can_run: Callable[[Sweep, Plan], bool]
) -> list[Aim]:
    """The claims that are still open, with what would probably decide them: under the readings that
    stand for the paper, then under the others, the cheapest first."""
    aims: list[Aim] = []
    for decision in sorted(decisions, key=lambda d: (not d.standing, d.seconds or 0.0)):
        sweep = decision.reading.sweep
        if decision.needed and sweep is not None and can_run(sweep, decision.ahead):
            cells = [cell for cell in whole_blocks(decision) if store.state(cell) != "done"]
            aims += [Aim(f"enough seeds for {decision.claim.id}", cells)] if cells else []
    return aims


def cells_of(aims: Iterable[Aim]) -> list[Cell]:
    """The cells of several aims, each once, in their order."""
    return list(dict.fromkeys(cell for aim in aims for cell in aim.cells))
