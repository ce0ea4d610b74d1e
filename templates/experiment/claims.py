"""What is checked: a function whose docstring begins with the sentence that it decides."""

import polars as pl

from delightful.lab.experiment import ClaimBook, Finding, found
from delightful.paper.comparisons import lower, pg_and_dg
from delightful.paper.experiment import sweep

CLAIMS = ClaimBook("experiment")


@CLAIMS.add("beyond the paper", paper="> 0", sweep=sweep.TRAINING)
def faster(table: pl.DataFrame) -> Finding:
    """DG finds the rarely tried arm sooner than PG.

    The error averaged over training, PG's − DG's, on the same seeds.
    """
    pg, dg = pg_and_dg(table, "error")
    gap = lower(pg.mean(1), dg.mean(1))
    return found("error averaged over training, PG − DG", gap, gap.low > 0)
