"""A budget of time: which cells are run within it, and in which order."""

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from delightful.lab.cells import Cell, Plan, Sweep
from delightful.lab.cost import Speed, guess
from delightful.lab.decisions import Decision, whole_blocks
from delightful.lab.duration import duration
from delightful.lab.errors import LabError
from delightful.lab.experiment import Experiment
from delightful.lab.store import Store

_UNITS = {"s": 1, "m": 60, "h": 3600}


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
        self.aim = ""  # what it is spent on now, in words, if it is known how much that is
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
    ) -> Iterator[Cell]:
        """The cells that will probably end within the budget when they are started; the others are
        handed to `skip`."""
        timed, started = list(done), list[Cell]()
        speed = Speed(timed, store)
        for cell in cells:
            finished = [one for one in started if store.state(one) == "done"]
            if finished:  # they tell how fast this machine is now
                timed += finished
                started = [one for one in started if one not in finished]
                speed = Speed(timed, store)
            if speed.seconds(cell) > self.left:
                skip(cell)
            else:
                started.append(cell)
                yield cell


def first_cells(
    experiments: Sequence[Experiment], plan: Plan, can_run: Callable[[Sweep, Plan], bool]
) -> list[Cell]:
    """What every figure needs: those of the main text, then all others, then the main text's at
    the quick scale; of each the cheapest sweep first, and first seeds first."""
    shown = {f.sweep.name for e in experiments for f in e.figures if f.sweep and not f.appendix}
    sweeps = [sweep for experiment in experiments for sweep in experiment.sweeps]
    main = [sweep for sweep in sweeps if sweep.name in shown]
    rest = [sweep for sweep in sweeps if sweep.name not in shown]
    cells: list[Cell] = []
    for some, scale in ((main, "brief"), (rest, "quick"), (main, "quick")):
        its_plan = replace(plan, scale=scale)
        by_sweep = [sweep.cells(its_plan) for sweep in some if can_run(sweep, its_plan)]
        by_sweep.sort(key=lambda its: sum(map(guess, its)))
        stage = [cell for its in by_sweep for cell in its]
        cells += sorted(stage, key=lambda cell: cell.first_seed)
    return cells


def next_cells(
    decisions: Sequence[Decision], store: Store, can_run: Callable[[Sweep, Plan], bool]
) -> list[Cell]:
    """What would probably decide the claims that are still open: under the readings that stand for
    the paper, then under the others, the cheapest first."""
    cells: list[Cell] = []
    for decision in sorted(decisions, key=lambda d: (not d.standing, d.seconds or 0.0)):
        sweep = decision.reading.sweep
        if decision.needed and sweep is not None and can_run(sweep, decision.ahead):
            cells += whole_blocks(decision)
    return [cell for cell in dict.fromkeys(cells) if store.state(cell) != "done"]
