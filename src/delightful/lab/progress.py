"""Running cells with a person watching: the cost beforehand, a bar with an ETA, a kind stop."""

import sys
import threading
import time
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from delightful.lab import cost, runners
from delightful.lab.cells import Cell
from delightful.lab.errors import BrokenRunError, LabError
from delightful.lab.store import Store

BETWEEN_UPDATES, BETWEEN_LINES = 1.0, 60.0  # seconds; lines where there is no terminal


def run_missing(cells: Sequence[Cell], store: Store, workers: int) -> int:
    """Run those of `cells` that the store lacks or finds damaged; how many were run."""
    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    cells = list({cell.id: cell for cell in cells}.values())
    states = {cell.id: store.state(cell) for cell in cells}
    to_run = [cell for cell in cells if states[cell.id] != "done"]
    # First seeds of every config first: a run that is stopped has then something to say on all.
    # Among equals the long cells first, so that no worker idles at the end.
    to_run.sort(key=lambda cell: (cell.first_seed, -cost.guess(cell)))
    done = [cell for cell in cells if states[cell.id] == "done"]
    for cell in to_run:
        if states[cell.id] == "damaged":
            console.print(f"{store.damage(cell)}")
    if not to_run:
        console.print(f"{len(done)} cells are done already; nothing to run.")
        return 0
    store.prepare()
    for program in {cell.program for cell in to_run}:
        program.make_ready()
    seconds, source = cost.estimate(to_run, done, store, workers)
    console.print(
        f"{len(to_run)} cells to run, {len(done)} done already: about {_duration(seconds)} "
        f"on {min(workers, len(to_run))} processes ({source})"
    )
    store.log("start", cells=len(to_run), workers=workers, estimate=round(seconds, 1))
    _run(to_run, store, workers, console, seconds)
    store.log("end", cells=len(to_run))
    return len(to_run)


def _run(
    cells: Sequence[Cell], store: Store, workers: int, console: Console, estimate: float
) -> None:
    outlook = Outlook(cells, store, workers, estimate)
    columns = (
        TextColumn("cells"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    over = threading.Event()
    broken: list[Cell] = []
    try:
        with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
            task = bar.add_task("", total=1.0, count=outlook.count, left=outlook.left())

            def update() -> str:
                done, count, left = outlook.done(), outlook.count, outlook.left()
                bar.update(task, completed=done, count=count, left=left)
                return f"{done:.0%}, {count} cells, {left}"

            def tell() -> None:
                """In a thread of its own: a cell may take hours, and tells how far it is."""
                while not over.wait(BETWEEN_UPDATES if console.is_terminal else BETWEEN_LINES):
                    line = update()
                    if not console.is_terminal:
                        console.print(line)

            threading.Thread(target=tell, daemon=True).start()
            for cell, outcome in runners.run(cells, store, workers):
                outlook.finished.add(cell.id)
                if isinstance(outcome, BrokenRunError):
                    broken.append(cell)
                    console.print(f"{cell}: {outcome}")
                update()
    except KeyboardInterrupt:
        finished = len(outlook.finished) - len(broken)
        store.log("stopped", finished=finished)
        raise LabError(
            f"stopped: {finished} of {len(cells)} cells were finished and are kept; "
            "give the same command again to go on."
        ) from None
    finally:
        over.set()
    if broken:
        raise LabError(
            f"{len(broken)} of {len(cells)} cells came to nothing, for the reasons above: "
            f"{', '.join(map(str, broken[:3]))}{' and more' if len(broken) > 3 else ''}; "
            "the others are kept."
        )
    console.print(f"{len(outlook.finished)} cells in {_duration(outlook.elapsed)}")
    sys.stderr.flush()


class Outlook:
    """How much of some cells has been done, those under way included, and how long the rest takes.

    The estimate weighs as much as the first cells, one per process; the pace so far, as much as
    has been done. That pace is taken when something more is seen to be done: in between, the time
    that passes goes into work which is not seen yet.
    """

    def __init__(self, cells: Sequence[Cell], store: Store, workers: int, estimate: float) -> None:
        self.finished: set[str] = set()
        self._cells, self._store, self._estimate = cells, store, estimate
        self._work = {cell.id: cost.guess(cell) for cell in cells}
        self._total = sum(self._work.values())
        self._first = min(1.0, workers / len(cells))
        self._start = time.monotonic()
        self._before = self.done()
        self._seen = self._before, 0.0  # what was done, and after how long that was seen

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._start

    @property
    def count(self) -> str:
        return f"{len(self.finished)}/{len(self._cells)}"

    def done(self) -> float:
        """As a share of all the work."""
        finished = set(self.finished)  # which grows in another thread
        whole = sum(self._work[name] for name in finished)
        parts = sum(
            self._work[cell.id] * cell.share(self._store.unfinished(cell))
            for cell in self._cells
            if cell.program.share and cell.id not in finished
        )
        return (whole + parts) / self._total

    def left(self) -> str:
        done = self.done()
        if done > self._seen[0]:
            self._seen = done, self.elapsed
        done, elapsed = self._seen
        expected = self._estimate / max(1 - self._before, 1e-9)
        pace = (self._first * expected + elapsed) / (self._first + done - self._before)
        return f"about {_duration((1 - done) * pace)} left"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
