"""Runs that were never made, of known numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from delightful.agents.tokens.training import MEASURED


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
