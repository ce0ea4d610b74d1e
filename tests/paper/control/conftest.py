"""Verdicts on tables that are made up."""

from collections.abc import Callable

import polars as pl
import pytest

from delightful.lab.verdicts import judge, verdict_of
from delightful.paper.control import EXPERIMENT


@pytest.fixture(scope="session")
def verdict() -> Callable[..., str]:
    """Gives the verdict of a claim, by its name, on a table."""
    claims = {claim.id.partition("/")[2]: claim for claim in EXPERIMENT.claims}

    def found(name: str, table: pl.DataFrame) -> str:
        claim = claims[name]
        return verdict_of(claim.rule, judge(claim.rule, claim.check(table), 0.99))

    return found
