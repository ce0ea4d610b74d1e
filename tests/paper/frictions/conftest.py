"""Runs with frictions that were never made, of known errors."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest


@pytest.fixture(scope="session")
def runs(table_of: Callable[..., pl.DataFrame]) -> Callable[..., pl.DataFrame]:
    """`table_of` with ten records per run; what is measured is the error."""

    def runs_with_frictions(sweep: Any, error: Any, *plan_and_seeds: Any) -> pl.DataFrame:
        how = {"metrics": ("error",), "records": 10}
        return table_of(sweep, lambda config: {"error": error(config)}, *plan_and_seeds, **how)

    return runs_with_frictions
