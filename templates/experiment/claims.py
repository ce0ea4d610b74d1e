"""What is checked: a function whose docstring begins with the sentence that it decides."""

import polars as pl

from delightful.lab.experiment import ClaimBook
from delightful.lab.verdicts import Measurement, above, measured
from delightful.paper.comparisons import lower, pg_and_dg
from delightful.paper.experiment import sweep

CLAIMS = ClaimBook("experiment")


@CLAIMS.add(
    "beyond the paper",
    paper="> 0",
    sweep=sweep.TRAINING,
    rule=above(0, "error averaged over training, DG − PG"),
    finding="with two arms and one step size, DG's average error {is} above PG's",
)
def smaller_steps(table: pl.DataFrame) -> Measurement:
    """At one step size and without unit gain, DG learns two arms more slowly than PG.

    A neutral gate halves a step. The lab applies the rule to the interval over seeds.
    """
    pg, dg = pg_and_dg(table, "error")
    return measured(lower(dg.mean(1), pg.mean(1)))
