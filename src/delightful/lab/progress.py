"""Running cells with a person watching: the cost beforehand, a bar with an ETA, a kind stop."""

import sys
import time
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from delightful.lab import cost, runners
from delightful.lab.cells import Cell
from delightful.lab.errors import LabError
from delightful.lab.store import Store


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
    start, finished, work_done = time.monotonic(), 0, 0.0
    work = {cell.id: cost.guess(cell) for cell in cells}
    total = sum(work.values())
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    last_line = start
    try:
        with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
            left = f"about {_duration(estimate)} left"
            task = bar.add_task("cells", total=len(cells), left=left)
            for cell, _ in runners.run(cells, store, workers):
                finished += 1
                work_done += work[cell.id]
                elapsed = time.monotonic() - start
                left = f"about {_duration(elapsed * (total - work_done) / work_done)} left"
                bar.update(task, completed=finished, left=left)
                if not console.is_terminal and time.monotonic() - last_line > 10:
                    last_line = time.monotonic()
                    console.print(f"{finished}/{len(cells)} cells, {left}")
    except KeyboardInterrupt:
        store.log("stopped", finished=finished)
        raise LabError(
            f"stopped: {finished} of {len(cells)} cells were finished and are kept; "
            "give the same command again to go on."
        ) from None
    console.print(f"{finished} cells in {_duration(time.monotonic() - start)}")
    sys.stderr.flush()


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
