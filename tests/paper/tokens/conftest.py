"""Runs that were never made, of known numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from delightful.agents.tokens.training import MEASURED
from delightful.lab.experiment import Claim
from delightful.lab.verdicts import Outcome, Verdict, confidence_of, headline, judge, verdict_of


@pytest.fixture(scope="session")
def runs(table_of: Callable[..., pl.DataFrame]) -> Callable[..., pl.DataFrame]:
    """`table_of` with four records per run, of which four passes over each batch make the first
    one comparable with all of a single pass; what is measured is the error, unless named."""

    def runs_of_tokens(
        sweep: Any, measured: Any, *plan_and_seeds: Any, records: int | None = 4
    ) -> pl.DataFrame:
        def metrics(config: Any) -> dict[str, Any]:
            given = measured(config)
            return given if isinstance(given, dict) else {"error": given}

        metrics_of_table = [{"reward": "measured_reward"}.get(name, name) for name in MEASURED]
        how = {"metrics": metrics_of_table, "records": records, "dtype": np.float32}
        return table_of(sweep, metrics, *plan_and_seeds, **how)

    return runs_of_tokens


Decided = tuple[Verdict, list[Outcome], str]
"""The verdict on a claim, its outcomes and its note."""


@pytest.fixture(scope="session")
def decided() -> Callable[..., Decided]:
    """A claim decided on a table as the lab does, under a reading with fresh actors: where there
    are two, per gradient step and per episode."""

    def decide(claim: Claim, table: pl.DataFrame, reading: int = 0) -> Decided:
        found = claim.check(claim.readings[1 + reading].prepare(table))
        assert claim.sweep is not None  # its seeds are those of every reading
        outcomes = judge(claim.rule, found, confidence_of(claim.sweep.seeds["paper"]))
        return verdict_of(claim.rule, outcomes), outcomes, found.note

    return decide


@pytest.fixture(scope="session")
def check_decision(
    runs: Callable[..., pl.DataFrame], decided: Callable[..., Decided]
) -> Callable[..., None]:
    """Asserts a claim's verdict under each reading with fresh actors, and the first value shown."""

    def check(claim: Claim, measured: Any, verdicts: tuple[Verdict, ...], value: float) -> None:
        table = runs(claim.readings[1].sweep, measured)
        found = [decided(claim, table, reading) for reading in range(len(claim.readings) - 1)]
        assert tuple(verdict for verdict, *_ in found) == verdicts, found
        estimate = headline(found[0][1]).estimate
        assert estimate.value == pytest.approx(value, abs=3e-7)
        assert estimate.low < estimate.value < estimate.high

    return check
