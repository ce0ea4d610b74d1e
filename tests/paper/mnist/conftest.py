"""The real MNIST, for the tests of its reading and its fetching; and runs on it, made up."""

import gzip
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from delightful.lab.errors import LabError
from delightful.lab.experiment import Claim
from delightful.lab.verdicts import Outcome, Verdict, headline, judge, verdict_of
from delightful.paper.mnist import data

ERRORS = ("train_error", "train_greedy_error", "val_error", "val_greedy_error")
GATES = ("gate_right", "gate_wrong", "gate_suppressed", "gate_neutral", "gate_open")
METRICS = (*ERRORS, "misalignment_pg", "misalignment_ce", *GATES)


@pytest.fixture(scope="session")
def runs(table_of: Callable[..., pl.DataFrame]) -> Callable[..., pl.DataFrame]:
    """`table_of` with two records per run; one number, if it is all that was measured, is the
    error, of all four kinds."""

    def runs_of_mnist(sweep: Any, measured: Any, *plan_and_seeds: Any) -> pl.DataFrame:
        def metrics(config: Any) -> dict[str, Any]:
            given = measured(config)
            return given if isinstance(given, dict) else dict.fromkeys(ERRORS, given)

        return table_of(sweep, metrics, *plan_and_seeds, metrics=METRICS, records=2)

    return runs_of_mnist


@dataclass(frozen=True)
class Decided:
    """What was decided on a table, and on what."""

    verdict: Verdict
    outcomes: list[Outcome]
    note: str

    @property
    def first(self) -> Outcome:
        return headline(self.outcomes)

    def value(self, case: str = "") -> float:
        """What was measured in the one case whose name ends like this."""
        (one,) = [outcome for outcome in self.outcomes if outcome.measures.endswith(case)]
        return one.estimate.value


def decided_on(
    claim: Claim, table: pl.DataFrame, reading: int = 0, confidence: float = 0.99
) -> Decided:
    """A claim decided on a table of its sweep."""
    found = claim.check(claim.readings[reading].prepare(table))
    outcomes = judge(claim.rule, found, confidence)
    return Decided(verdict_of(claim.rule, outcomes), outcomes, found.note)


@pytest.fixture(scope="session")
def on_table() -> Callable[..., Decided]:
    return decided_on


@pytest.fixture(scope="session")
def decided(runs: Callable[..., pl.DataFrame]) -> Callable[..., Decided]:
    """A claim decided on runs that measured what is given."""

    def decide(
        claim: Claim, measured: Any, plan: Any = None, seeds: int = 8, reading: int = 0
    ) -> Decided:
        sweep = claim.readings[reading].sweep
        return decided_on(claim, runs(sweep, measured, plan, seeds), reading)

    return decide


@pytest.fixture(scope="session")
def original() -> Path:
    """The folder of the four files, found or fetched; only to be read."""
    data.fetch()
    return data.folder()


@pytest.fixture(scope="session")
def gzipped(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The four files as a mirror has them; only to be read."""
    folder = tmp_path_factory.mktemp("gzipped")
    for name, file in data.read(original).items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(file, compresslevel=1))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def forgetful() -> Iterator[None]:
    """What a test loads is neither an earlier test's nor kept for a later one."""
    data.load.clear()
    yield
    data.load.clear()


@pytest.fixture
def refused() -> Callable[[Callable[[], object]], str]:
    """The one sentence with which a function refuses."""

    def sentence(function: Callable[[], object]) -> str:
        with pytest.raises(LabError) as caught:
            function()
        assert re.fullmatch(r"[^\n]+\.", str(caught.value))
        return str(caught.value)

    return sentence
