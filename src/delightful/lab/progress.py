"""Running cells from the command line: an estimate before, a progress bar with an ETA, Ctrl-C."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from delightful.lab import cost
from delightful.lab.budget import Aim, Budget
from delightful.lab.cells import Cell
from delightful.lab.duration import duration
from delightful.lab.errors import BrokenRunError, LabError
from delightful.lab.runners import LocalRunner, Runner
from delightful.lab.store import Store
from delightful.lab.wording import plural

BETWEEN_UPDATES, BETWEEN_LINES = 1.0, 60.0  # seconds; lines where there is no terminal


def run_missing(
    cells: Sequence[Cell],
    store: Store,
    runner: Runner | int,
    budget: Budget | None = None,
    broken: list[Cell] | None = None,
) -> int:
    """Run the cells that are missing or damaged, with progress on stderr; how many were run.

    The runner may be given as a number of local processes. With a budget, cells run in the order
    given, and only those that it allows. Cells that fail are named and added to `broken`; without
    it, they are an error once the others have run.
    """
    runner = LocalRunner(runner) if isinstance(runner, int) else runner
    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    cells = list({cell.id: cell for cell in cells}.values())
    states = {cell.id: store.state(cell) for cell in cells}
    to_run = [cell for cell in cells if states[cell.id] != "done"]
    if budget is None:
        # The first seeds of every config first, so that a stopped run has some of each config.
        # Among these the long cells first, so that no worker idles at the end.
        to_run.sort(key=lambda cell: (cell.first_seed, -cost.guess(cell)))
    done = [cell for cell in cells if states[cell.id] == "done"]
    for cell in to_run:
        if states[cell.id] == "damaged":
            console.print(f"{store.damage(cell)}")
    if not to_run:
        console.print(f"{plural(len(done), 'cell')} done already; nothing to run.")
        return 0
    store.prepare()
    runner.prepare(to_run)
    seconds, source = cost.estimate(to_run, done, store, runner.slots)
    outlook = Outlook(to_run, store, min(runner.slots, len(to_run)), seconds)
    place = f"on {runner.place(len(to_run))}"
    if budget and budget.finite:  # it ends long before all that open claims could need is run
        words = f"running {place}, {plural(len(done), 'cell')} done already"
        console.print(f"{words}; {_aim(outlook, budget)}{budget}")
    else:
        words = f"{plural(len(to_run), 'cell')} to run, {len(done)} done already"
        words += f": about {duration(seconds)} {place} ({source})"
        console.print(f"{words}; {budget}" if budget else words)
    store.log("start", cells=len(to_run), workers=runner.slots, estimate=round(seconds, 1))
    allowed: Iterable[Cell] = to_run
    if budget:
        allowed = budget.affordable(to_run, done, store, outlook.skip, runner.slots, console.print)
    ran = _run(allowed, outlook, store, runner, console, budget, broken)
    store.log("end", cells=ran)
    return ran


def _run(
    cells: Iterable[Cell],
    outlook: "Outlook",
    store: Store,
    runner: Runner,
    console: Console,
    budget: Budget | None,
    failed: list[Cell] | None,
) -> int:
    broken: list[Cell] = []
    try:
        with _progress_bar(outlook, console, budget, runner) as update:
            for cell, outcome in runner.run(cells, store):
                outlook.finished.add(cell.id)
                if budget:
                    budget.finished += 1
                if isinstance(outcome, BrokenRunError):
                    broken.append(cell)
                    console.print(f"{cell}: {outcome}")
                update()
    except KeyboardInterrupt:
        finished = len(outlook.finished) - len(broken)
        store.log("stopped", finished=finished)
        count = f"{finished} of {plural(outlook.total, 'cell')}"
        if budget and budget.finite:
            count = plural(finished, "cell")
        were, are = ("was", "is") if finished == 1 else ("were", "are")
        raise LabError(
            f"stopped: {count} {were} finished and {are} kept; "
            "give the same command again to resume."
        ) from None
    if failed is not None:
        failed += broken
    elif broken:
        raise LabError(
            f"{len(broken)} of {plural(outlook.total, 'cell')} failed, for the reasons above: "
            f"{', '.join(map(str, broken[:3]))}{' and more' if len(broken) > 3 else ''}; "
            "the others are kept."
        )
    console.print(f"{plural(len(outlook.finished), 'cell')} in {duration(outlook.elapsed)}")
    sys.stderr.flush()
    return len(outlook.finished)


@contextlib.contextmanager
def _progress_bar(
    outlook: "Outlook", console: Console, budget: Budget | None, runner: Runner
) -> Iterator[Callable[[], str]]:
    """A bar on a terminal, or else a line now and then; what updates it at once.

    Of a finite budget they show how much is spent; else how much of the work is done.
    """
    columns = [BarColumn(20), *(TextColumn(f"{{task.fields[{x}]}}") for x in ("count", "left"))]
    over = threading.Event()
    try:
        with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
            task = bar.add_task("", total=1.0, count="", left="")

            def update() -> str:
                done, count, left = _now(outlook, budget)
                left = "; ".join(filter(None, (left, runner.status())))
                bar.update(task, completed=done, count=count, left=left)
                spent = " of the budget spent" if budget and budget.finite else ""
                return f"{done:.0%}{spent}, {count}, {left}"

            def report() -> None:
                """In a thread of its own, since a cell may take hours."""
                while not over.wait(BETWEEN_UPDATES if console.is_terminal else BETWEEN_LINES):
                    line = update()
                    if not console.is_terminal:
                        console.print(line)

            update()
            threading.Thread(target=report, daemon=True).start()
            yield update
    finally:
        over.set()


def _now(outlook: "Outlook", budget: Budget | None) -> tuple[float, str, str]:
    """The share that the bar shows, the cells, and what is left, in words."""
    if budget and budget.finite:
        count = f"{plural(budget.finished, 'cell')} finished"
        return budget.share, count, f"{_aim(outlook, budget)}{budget}"
    left = f"{outlook.left()}; {budget}" if budget else outlook.left()
    return outlook.done(), f"{outlook.count} cells", left


def _aim(outlook: "Outlook", budget: Budget) -> str:
    """When the first of the budget's aims that is not reached probably will be, in words; empty if
    there is none."""
    for aim in budget.aims:
        seconds = outlook.until(aim)
        if seconds is not None:
            late = seconds > budget.left
            when = "after this budget" if late else f"in about {duration(seconds)}"
            return f"{aim.words} {when}, "
    return ""


class Outlook:
    """How much of some cells has been done, checkpoints included, and how long the rest takes.

    Time and progress are those of this run; checkpoints of an earlier run are work that is not
    there. The remaining time follows from the mean of two speeds: the estimated one, weighted as
    the first cells, one per process; and the measured one, weighted by the progress. The latter
    is taken when progress was last seen, since the work done after that is not known.
    """

    def __init__(self, cells: Sequence[Cell], store: Store, workers: int, estimate: float) -> None:
        self.finished: set[str] = set()  # ids
        self._cells, self._store, self._estimate = cells, store, estimate
        self._workers = workers
        self._work = {cell.id: cost.guess(cell) for cell in cells}
        self._total = sum(self._work.values())
        self._first = min(1.0, workers / len(cells))
        self._start = time.monotonic()
        self._skipped: set[str] = set()
        self._before = self.done()
        self._seen = 0.0, 0.0  # progress of this run, and after how long it was seen

    @property
    def elapsed(self) -> float:
        """Seconds since the start of this run."""
        return time.monotonic() - self._start

    @property
    def count(self) -> str:
        """Finished cells of all, as "3/8"."""
        return f"{len(self.finished)}/{self.total}"

    @property
    def total(self) -> int:
        """The cells that are to be run."""
        return len(self._cells) - len(self._skipped)

    def skip(self, cell: Cell) -> None:
        """Leave a cell out of what is to be done."""
        self._skipped.add(cell.id)
        self._total -= self._work[cell.id]

    def done(self) -> float:
        """The share of the whole work that has been done, also by earlier runs."""
        finished = set(self.finished)  # which grows in another thread
        whole = sum(self._work[name] for name in finished)
        parts = sum(
            self._work[cell.id] * cell.share(self._store.unfinished(cell))
            for cell in self._cells
            if cell.program.share and cell.id not in finished | self._skipped
        )
        return (whole + parts) / max(self._total, 1e-9)

    def until(self, aim: Aim) -> float | None:
        """The seconds until an aim is reached, whose cells come first; None if it has been, or if
        what it needs is left out."""
        finished, skipped = set(self.finished), set(self._skipped)
        mine = [cell for cell in aim.cells if cell.id in self._work and cell.id not in finished]
        if aim.whole and any(cell.id in skipped for cell in mine):
            return None
        mine = [cell for cell in mine if cell.id not in skipped]
        if not mine:
            return None
        share = self._left(mine) / max(self._left(self._cells), 1e-9)
        return share * self.remaining() * self._workers / min(self._workers, len(mine))

    def _left(self, cells: Iterable[Cell]) -> float:
        """The work that is left of some cells."""
        over = self.finished | self._skipped
        return sum(
            self._work[cell.id] * (1 - cell.share(self._store.unfinished(cell)))
            for cell in cells
            if cell.id not in over
        )

    def left(self) -> str:
        """The remaining time, in words."""
        return f"about {duration(self.remaining())} left"

    def remaining(self) -> float:
        """The remaining time in seconds."""
        progress = (self.done() - self._before) / max(1 - self._before, 1e-9)
        if progress > self._seen[0]:
            self._seen = progress, self.elapsed
        progress, elapsed = self._seen
        whole = (self._first * self._estimate + elapsed) / (self._first + progress)
        return (1 - progress) * whole
