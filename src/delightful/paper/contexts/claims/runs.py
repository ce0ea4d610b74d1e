"""Claims of Section 4.2 on runs, with intervals over seeds."""

import numpy as np
import polars as pl

from delightful.lab.experiment import ClaimBook
from delightful.lab.verdicts import Measurement, NotMeasuredError, Rule, above, below, measured
from delightful.paper.comparisons import lower, lower_throughout, pg_and_dg, throughout
from delightful.paper.contexts import sweep

claims = ClaimBook("contexts")


@claims.add(
    "Section 4.2, Figure 6a",
    paper="> 0",
    sweep=sweep.TRAINING,
    rule=above(0, "average error over training, PG − DG"),
    finding="with several contexts and exact gradients, DG's average error {is} below PG's",
)
def faster(table: pl.DataFrame) -> Measurement:
    """Although PG follows g*_PG exactly, DG converges faster."""
    pg, dg = pg_and_dg(table, "error")
    note = f"average error at the end: PG {pg[:, -1].mean():.3g}, DG {dg[:, -1].mean():.3g}"
    return measured(lower(pg.mean(1), dg.mean(1)), note=note)


@claims.add(
    "Section 4.2, Figure 6b",
    paper="> 0",
    sweep=sweep.TRAINING,
    rule=throughout("misalignment"),
    finding="DG's misalignment with cross-entropy {is} below PG's in {case:tenths of training}",
)
def gap_persists(table: pl.DataFrame) -> Measurement:
    """The cosine gap persists throughout training, confirming a directional effect."""
    return lower_throughout(table, "misalignment")


@claims.add(
    "Section 4.2",
    paper="> 0, then < 0",
    sweep=sweep.TRAINING,
    rule=Rule(
        above(0, "error, DG − PG, after one step"),
        below(0, "error, DG − PG, when DG has halved its error"),
        parts=True,
    ),
)
def compounding(table: pl.DataFrame) -> Measurement:
    """PG's direction is myopically optimal, but greedy single-step optimality does not imply
    optimal long-run compounding."""
    pg, dg = pg_and_dg(table, "error")
    late = int(np.argmax(dg.mean(0) < dg[:, 0].mean() / 2))
    if late == 0:
        raise NotMeasuredError("DG has not halved its error in these runs")
    first, later = (lower(dg[:, step], pg[:, step]) for step in (1, late))
    return measured(first, later, note=f"DG has halved its error after {late} steps")
