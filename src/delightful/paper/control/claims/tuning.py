"""Claims of Appendix E on tuning: PPO's clip and MPO's temperature."""

import polars as pl

from delightful.agents.control.config import LEAST_WEIGHT
from delightful.lab.conditions import Condition
from delightful.lab.experiment import ClaimBook
from delightful.lab.quantities import Ratio
from delightful.lab.tables import at_end, by_option
from delightful.lab.verdicts import (
    Measurement,
    NotMeasuredError,
    Rule,
    TooFewSeedsError,
    below,
    measured,
)
from delightful.paper.control.claims.readings import both
from delightful.paper.control.scores import final_by_option, length
from delightful.registry import METHODS

claims = ClaimBook("control")

MUCH = 1.1  # times the default's return


_SEVERAL = Condition(
    "if the default and at least {:g} others have been run",
    (2,),
    ours="fewer are no sweep",
)


def _comparable(option: str) -> Rule:
    quantity, ours = f"final return with another {option} over the default's", "10% is substantial"
    return Rule(below(MUCH, quantity, grid=True, ours=ours), conditions=(_SEVERAL,))


def _over_default(table: pl.DataFrame, name: str, option: str) -> Measurement:
    """The return of each value that has every seed, over the default's."""
    rows = final_by_option(table, name, option).sort(option, "seed")
    rows = rows.filter(pl.col("seed").n_unique().over(option) == table["seed"].n_unique())
    ends = {
        float(value): part["final"].to_numpy()
        for (value,), part in rows.group_by(option, maintain_order=True)
    }
    default, (others,) = METHODS[name].defaults[option], _SEVERAL.values
    if default not in ends or len(ends) < 1 + others:
        raise TooFewSeedsError(
            f"it needs {name} with its default {option} and {others:g} others, with every seed"
        )
    if ends[default].mean() <= 0:
        raise NotMeasuredError(f"{name} has learned nothing with its default {option}")
    each = ", ".join(f"{value:g}: {x.mean():.0f}" for value, x in ends.items())
    note = f"final return by {option}: {each}; {length(table)}"
    note += _clipped(table) if name == "ppo" else _small_weights(table, name, option)
    base = ends.pop(default)
    cases = {f"{option} {value:g}": Ratio(x, base) for value, x in ends.items()}
    return measured(cases, note=note)


def _clipped(table: pl.DataFrame) -> str:
    share = float(table.filter(pl.col("method") == "ppo")["clipped"].mean())  # type: ignore[arg-type]
    return f"; with the default, {share:.1%} of draws have a ratio beyond it"


def _small_weights(table: pl.DataFrame, name: str, option: str) -> str:
    """The values with which weights are so small that our floor decides how much is learned."""
    runs = by_option(at_end(table), name, option).group_by(option).agg(pl.col("weight").mean())
    small = runs.filter(pl.col("weight") < 1.01 * LEAST_WEIGHT).sort(option)[option].to_list()
    values = ", ".join(f"{value:g}" for value in small)
    return f"; with {values} weights are below the least size that we divide by" if small else ""


@claims.add(
    "Appendix E, Figure 26a", paper="≈ 1", readings=both("tuning"), rule=_comparable("clip")
)
def ppo_clip(table: pl.DataFrame) -> Measurement:
    """No clip ε in [0.01, 100] substantially outperforms PPO's default."""
    return _over_default(table, "ppo", "clip")


@claims.add(
    "Appendix E, Figure 26b", paper="≈ 1", readings=both("tuning"), rule=_comparable("temperature")
)
def mpo_temperature(table: pl.DataFrame) -> Measurement:
    """No temperature η in [0.001, 1000] substantially outperforms MPO's default."""
    return _over_default(table, "mpo", "temperature")
