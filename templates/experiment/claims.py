"""What is checked: a function whose docstring begins with the sentence that it decides."""

import polars as pl

from delightful.lab.experiment import ClaimBook, Finding, found
from delightful.paper.comparisons import lower, pg_and_dg
from delightful.paper.experiment import sweep

CLAIMS = ClaimBook("experiment")


@CLAIMS.add("beyond the paper", paper="> 0", sweep=sweep.TRAINING)
def smaller_steps(table: pl.DataFrame) -> Finding:
    """At one step size and without unit gain, DG learns two arms more slowly than PG.

    The error averaged over training, DG's − PG's, on the same seeds: a neutral gate halves a step.
    """
    pg, dg = pg_and_dg(table, "error")
    gap = lower(dg.mean(1), pg.mean(1))
    return found("error averaged over training, DG − PG", gap, gap.low > 0)
