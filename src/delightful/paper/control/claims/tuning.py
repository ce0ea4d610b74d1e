"""Claims of Appendix E on tuning: PPO's clip and MPO's temperature."""

import numpy as np
import polars as pl

from delightful.agents.control.config import LEAST_WEIGHT
from delightful.lab.experiment import ClaimBook, Finding, NotMeasuredError, found
from delightful.lab.statistics import Estimate, t_interval
from delightful.lab.tables import at_end, by_option
from delightful.paper.control import sweep
from delightful.paper.control.scores import final_by_option
from delightful.weights import METHODS

claims = ClaimBook("control")

MUCH = 1.1  # times the default's return


def _sensitivity(table: pl.DataFrame, name: str, option: str) -> Finding:
    """The return of the best value but the default, over the default's."""
    rows = final_by_option(table, name, option)
    rows = rows.filter(pl.col(option).n_unique().over("seed") == pl.col(option).n_unique())
    default = METHODS[name].defaults[option]
    by_value = {
        float(v): part.sort("seed")["final"].to_numpy() for (v,), part in rows.group_by(option)
    }
    if default not in by_value or len(by_value) < 3:
        raise NotMeasuredError(f"it needs {name} with its default {option} and two others")
    seeds = min(len(x) for x in by_value.values())
    if seeds < 2:
        raise NotMeasuredError(f"2 seeds of every {option} are needed")
    means = {value: float(x.mean()) for value, x in sorted(by_value.items())}
    if means[default] <= 0:
        raise NotMeasuredError(f"{name} has learned nothing with its default {option}")
    others = {value: x for value, x in by_value.items() if value != default}
    ratios = {value: _over(x, by_value[default]) for value, x in others.items()}
    best = max(ratios, key=lambda value: ratios[value].value)
    each = ", ".join(f"{value:g}: {mean:.0f}" for value, mean in means.items())
    steps = int(table["steps"].max())  # type: ignore[arg-type]
    note = f"{seeds} seeds, {steps:,} steps; final return by {option}: {each}"
    if name == "ppo":
        share = float(table.filter(pl.col("method") == name)["clipped"].mean())  # type: ignore[arg-type]
        note += f"; with the default, {share:.1%} of draws have a ratio beyond it"
    else:
        note += _small_weights(table, name, option)
    measures = f"return of the best other {option}, {best:g}, over the default's"
    unsure = {value: ratio for value, ratio in sorted(ratios.items()) if ratio.high >= MUCH}
    if unsure:
        note += f"; not surely below {MUCH:g}: "
        note += ", ".join(f"{value:g} {ratio}" for value, ratio in unsure.items())
    likely = ratios[best].value < MUCH
    return found(measures, ratios[best], not unsure, partly=likely, note=note)


def _small_weights(table: pl.DataFrame, name: str, option: str) -> str:
    """The values with which weights are so small that our floor decides how much is learned."""
    runs = by_option(at_end(table), name, option).group_by(option).agg(pl.col("weight").mean())
    small = runs.filter(pl.col("weight") < 1.01 * LEAST_WEIGHT).sort(option)[option].to_list()
    values = ", ".join(f"{value:g}" for value in small)
    return f"; with {values} weights are below the least size that we divide by" if small else ""


def _over(ends: np.ndarray, of_default: np.ndarray) -> Estimate:
    """Mean return over the default's, seeds in pairs; the default's mean is taken as known."""
    gap, mean = t_interval(ends - of_default), float(of_default.mean())
    return Estimate(*(1 + part / mean for part in (gap.value, gap.low, gap.high)))


@claims.add("Appendix E, Figure 26a", paper="≈ 1", sweep=sweep.TUNING)
def ppo_clip(table: pl.DataFrame) -> Finding:
    """No clip ε in [0.01, 100] substantially outperforms PPO's default."""
    return _sensitivity(table, "ppo", "clip")


@claims.add("Appendix E, Figure 26b", paper="≈ 1", sweep=sweep.TUNING)
def mpo_temperature(table: pl.DataFrame) -> Finding:
    """No temperature η in [0.001, 1000] substantially outperforms MPO's default."""
    return _sensitivity(table, "mpo", "temperature")
