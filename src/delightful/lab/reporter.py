"""Everything that a store can show, decided, drawn and written into one folder."""

import contextlib
import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from delightful.lab.cells import Plan, Sweep
from delightful.lab.decisions import Decision, decide_all
from delightful.lab.drawing import Drawn, NothingToDrawError, draw
from delightful.lab.errors import LabError
from delightful.lab.experiment import Experiment, Figure
from delightful.lab.rendering import claims_markdown
from delightful.lab.report import runs_file, write_report
from delightful.lab.selection import plan_for, usable
from delightful.lab.store import DamagedError, Store, to_parquet, write_whole, writing
from delightful.lab.wording import plural

EVERY = 45.0  # seconds between two reports while a run is on


class Reporter:
    """Writes report.html, claims.md, claims.json and the figures, again and again.

    A figure is drawn again only if its runs have changed.

    Args:
        experiments: What the report is on.
        store: Where their runs are.
        plan: What was asked for.
        scale: The scale to show; None for the largest that the store can show of each sweep.
        folder: Where the files go.
        title: What the report is called.
        tell: Called with a line for each section as its turn comes; all take minutes.
    """

    def __init__(
        self,
        experiments: Sequence[Experiment],
        store: Store,
        plan: Plan,
        scale: str | None,
        folder: Path,
        title: str = "",
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._experiments, self._store, self._plan = experiments, store, plan
        self._scale, self.folder, self._title, self._tell = scale, folder, title, tell
        self._drawn: dict[str, tuple[tuple[str, ...], Drawn]] = {}
        self._said: set[str] = set()
        self.seconds = 0.0  # that the last writing took

    def write(self, running: str = "") -> list[Decision]:
        """Write the files; the decisions in them.

        Args:
            running: How far a run is that is on; the page then refreshes itself.

        Returns:
            One decision for each reading of each claim.
        """
        start = time.monotonic()
        decisions: list[Decision] = []
        drawn: list[Drawn] = []
        found: Iterable[list[Decision]] = map(self._decide, self._experiments)
        if running and not self._drawn:  # figures take a while; something is there to look at
            found = list(found)
            self._write_page([decision for mine in found for decision in mine], [], running)
        for experiment, mine in zip(self._experiments, found, strict=True):
            decisions += mine
            figures = [figure for figure in experiment.figures if not figure.panel]
            drawn += [made for figure in figures if (made := self._draw(figure))]
        rows = json.dumps([d.row() for d in decisions], indent=1, ensure_ascii=False)
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(self.folder / "claims.md", claims_markdown(decisions).encode())
            write_whole(self.folder / "claims.json", rows.encode())
        self._write_page(decisions, drawn, running)
        self.seconds = time.monotonic() - start
        return decisions

    def _decide(self, experiment: Experiment) -> list[Decision]:
        claims = experiment.claims
        figures = sum(not figure.panel for figure in experiment.figures)
        counts = [(len(claims), "claim"), (figures, "figure")]
        words = (plural(count, noun) for count, noun in counts if count)
        self._tell(f"{experiment.name}: {' and '.join(words) or 'nothing to show'}")
        decisions = decide_all(claims, self._store, self._plan, self._scale)
        for decision in decisions:
            if decision.damaged:
                self._say(decision.note)
        return decisions

    def _write_page(
        self, decisions: Sequence[Decision], drawn: Sequence[Drawn], running: str
    ) -> None:
        write_report(
            self.folder, self._experiments, decisions, drawn, title=self._title, running=running
        )

    def _draw(self, figure: Figure) -> Drawn | None:
        plan, cells = self._plan, tuple[str, ...]()
        if figure.sweep is not None:
            plan = plan_for(figure.sweep, self._store, self._plan, self._scale)
            try:
                cells = tuple(cell.id for cell in usable(figure.sweep, plan, self._store))
            except DamagedError as error:
                self._say(str(error))
            if not cells:
                return None
        if figure.id not in self._drawn or self._drawn[figure.id][0] != cells:
            try:
                made = draw(figure, self._store, plan, self.folder / "figures", self._plan)
            except NothingToDrawError:  # of runs that --method or --set changed
                return None
            except LabError:
                raise
            except Exception as error:  # a defect in one figure must not cost all others
                said = f"{type(error).__name__}: {' '.join(str(error).split())}"
                self._say(f"figure {figure.id} is left out, drawing it failed: {said}")
                return None
            if figure.sweep is not None:
                self._write_runs(figure.sweep, plan)
            self._drawn[figure.id] = cells, made
        return self._drawn[figure.id][1]

    def _say(self, harm: str) -> None:
        """Name a damaged file, or a figure that failed, on stderr, once."""
        if harm not in self._said:
            print(harm, file=sys.stderr)
        self._said.add(harm)

    def _write_runs(self, sweep: Sweep, plan: Plan) -> None:
        """Every seed of the runs behind a figure, as a file that the page links to."""
        path = self.folder / runs_file(sweep)
        table = self._store.table(usable(sweep, plan, self._store))
        assert table is not None
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, to_parquet(table))

    @contextlib.contextmanager
    def while_running(self, words: Callable[[list[Decision]], str]) -> Iterator[None]:
        """Rewrite the files in a thread of its own, until the block ends.

        Args:
            words: From the decisions so far, how far the run is.
        """
        over, told = threading.Event(), "running"

        def rewrite() -> None:
            nonlocal told
            while True:
                try:
                    told = words(self.write(f"{told}."))
                except LabError as error:  # a full disk, say: the run goes on
                    print(f"no report: {error}", file=sys.stderr)
                if over.wait(EVERY):
                    return

        thread = threading.Thread(target=rewrite, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
