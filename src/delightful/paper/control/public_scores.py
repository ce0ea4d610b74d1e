"""Public scores: a CSV that the user names in DELIGHTFUL_SCORES, and how it is read.

Columns: algo, task, env_steps and mean; source is shown before algo; with a column action_repeat,
only scores without repeated actions are used. Tasks are written cheetah-run or cheetah:run.
"""

import os
import re
from pathlib import Path

import polars as pl

from delightful.agents.control.tasks import SUITE
from delightful.lab.errors import LabError

VARIABLE = "DELIGHTFUL_SCORES"
NEEDED = ("algo", "task", "env_steps", "mean")
ALIASES = {"cup-catch": "ball_in_cup:catch"}


def scores() -> pl.DataFrame:
    """agent, task, step and score of each row on a task of the suite; none if no file is named."""
    named = os.environ.get(VARIABLE)
    if not named:
        return pl.DataFrame(
            schema={"agent": pl.String, "task": pl.String, "step": pl.Int64, "score": pl.Float64}
        )
    return read(Path(named))


def read(path: Path) -> pl.DataFrame:
    known = {re.sub("[:_]", "-", task.lower()): task for task in SUITE} | ALIASES
    task = pl.col("task").str.to_lowercase().str.replace_all("[:_]", "-")
    try:
        table = pl.read_csv(path, infer_schema=False)
        missing = [name for name in NEEDED if name not in table.columns]
        if missing:
            raise LabError(
                f"{path} has no column {' and no '.join(missing)}; it needs {', '.join(NEEDED)}."
            )
        if "action_repeat" in table.columns:
            table = table.filter(pl.col("action_repeat").cast(pl.Float64) == 1)
        source = pl.col("source").fill_null("") if "source" in table.columns else pl.lit("")
        table = table.with_columns(task.replace_strict(known, default=None)).drop_nulls("task")
        return table.select(
            agent=pl.concat_str([source, pl.col("algo")], separator=" ").str.strip_chars(),
            task="task",
            step=pl.col("env_steps").cast(pl.Float64).cast(pl.Int64),
            score=pl.col("mean").cast(pl.Float64),
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise LabError(f"cannot read {path}, which {VARIABLE} names: {reason}.") from None
