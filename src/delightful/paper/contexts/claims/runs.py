"""Claims of Section 4.2 on runs, with intervals over seeds."""

import numpy as np
import polars as pl

from delightful.lab.experiment import ClaimBook, Finding, found
from delightful.paper.comparisons import dg_is_lower_throughout, lower, pg_and_dg
from delightful.paper.contexts import sweep

claims = ClaimBook("contexts")


@claims.add("Section 4.2, Figure 6a", paper="> 0", sweep=sweep.TRAINING)
def faster(table: pl.DataFrame) -> Finding:
    """Although PG follows g*_PG exactly, DG converges faster."""
    pg, dg = pg_and_dg(table, "error")
    gap = lower(pg.mean(1), dg.mean(1))
    note = f"average error at the end: PG {pg[:, -1].mean():.3g}, DG {dg[:, -1].mean():.3g}"
    return found("average error over training, PG − DG", gap, gap.low > 0, note=note)


@claims.add("Section 4.2, Figure 6b", paper="> 0", sweep=sweep.TRAINING)
def gap_persists(table: pl.DataFrame) -> Finding:
    """The cosine gap persists throughout training, confirming a directional effect."""
    return dg_is_lower_throughout(table, "misalignment")


@claims.add("Section 4.2", paper="> 0, then < 0", sweep=sweep.TRAINING)
def compounding(table: pl.DataFrame) -> Finding:
    """PG's direction is myopically optimal, but greedy single-step optimality does not imply
    optimal long-run compounding.

    PG gains most in the first step, and is behind DG when DG has halved its error.
    """
    pg, dg = pg_and_dg(table, "error")
    first = lower(dg[:, 1], pg[:, 1])
    late = int(np.argmax(dg.mean(0) < dg[:, 0].mean() / 2)) or dg.shape[1] - 1
    later = lower(dg[:, late], pg[:, late])
    holds = first.low > 0 and later.high < 0
    note = f"after one step {first}; after {late} steps {later}"
    return found("error DG − PG after one step", first, holds, partly=later.high < 0, note=note)
