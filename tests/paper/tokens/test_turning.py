"""With actors how old the claims hold: verdicts by delay, on made-up runs."""

from dataclasses import asdict, replace

import numpy as np
import polars as pl
import pytest

from delightful.agents.tokens.config import TokensConfig
from delightful.lab import style
from delightful.lab.hovering import series
from delightful.paper.tokens.figures.turning import TURNING, claims_by_age, verdicts
from delightful.paper.tokens.sweep import RATES, K

SEEDS = 15
LEAD = {0: 0.0, 10: 0.3}  # by how much DG's error is lower


def runs(config: TokensConfig, error: float, seeds: int = SEEDS) -> pl.DataFrame:
    rng = np.random.default_rng(sum(map(ord, config.method)) + config.delay)
    columns = {name: pl.lit(value) for name, value in asdict(config).items()}
    errors = error + 0.01 * rng.standard_normal(seeds)
    role = pl.lit("main" if config.method == "dg" else "rival")
    curves = pl.DataFrame({"seed": np.arange(seeds), "step": K, "error": errors})
    return curves.with_columns(**columns, role=role, varied=pl.lit("delay"))


def table(delays: dict[int, float], seeds: int = SEEDS) -> pl.DataFrame:
    found = []
    for delay, lead in delays.items():
        config = TokensConfig(delay=delay, ages="uniform" if delay else "fixed")
        for method in ("pg", "ppo", "pmpo", "pmpo:preference=1.0", "dg"):
            for rate, worse in zip(RATES, (0.2, 0.2, 0.0, 0.4), strict=True):
                mine = replace(config, method=method, learning_rate=rate)
                error = 0.1 + worse + lead * (method != "dg")
                found.append(runs(mine, error, seeds))
    return pl.concat(found)


def test_a_claim_turns_where_its_interval_does() -> None:
    found = dict(verdicts(table(LEAD)).select(pl.concat_str("claim", "delay"), "verdict").rows())
    assert found["tokens/faster10"] == found["tokens/lower-error10"] == "reproduced"
    assert found["tokens/faster0"] == "inconclusive"
    assert found["tokens/tuned-dg0"] == found["tokens/tuned-dg10"] == "not reproduced"
    assert found["tokens/pmpo-boundary10"] == "inconclusive"
    assert found["tokens/learning-rates10"] == "reproduced"
    assert found["tokens/learning-rates0"] == "inconclusive"
    assert len(found) == len(TURNING) * len(LEAD)


def test_it_is_judged_at_a_look_and_at_each_methods_best_rate() -> None:
    rows = verdicts(table(LEAD, seeds=8))
    assert set(rows["seeds"]) == {7}


@pytest.mark.parametrize("seeds", [1, 2])
def test_with_too_few_seeds_nothing_is_decided(seeds: int) -> None:
    assert set(verdicts(table(LEAD, seeds=seeds))["verdict"]) == {"inconclusive"}


def test_without_one_of_the_methods_there_is_no_verdict() -> None:
    some = table(LEAD).filter((pl.col("method") != "ppo") | (pl.col("delay") == 0))
    rows = verdicts(some).filter(pl.col("delay") == 10)
    compared = rows.filter(pl.col("claim") != "tokens/pmpo-boundary")
    assert set(compared["verdict"]) == {"not run"}
    assert set(compared["seeds"]) == {0}


def test_a_claim_rests_on_all_seeds_that_its_own_methods_have() -> None:
    alone = pl.col("method") == "pmpo:preference=1.0"
    some = table({10: 0.3}).filter(~alone | (pl.col("seed") < 3))
    seeds = dict(verdicts(some).select("claim", "seeds").rows())
    assert seeds["tokens/faster"] == 15
    assert seeds["tokens/pmpo-boundary"] == 3


def test_the_figure_shows_every_verdict() -> None:
    drawn = claims_by_age(table(LEAD))
    texts = [text.get_text() for text in drawn.figure.axes[0].texts]
    shown = drawn.numbers.select(pl.format("{}\n({})", "verdict", "seeds")).to_series()
    assert texts == shown.to_list()


def test_pointed_at_a_verdict_has_the_value_that_it_rests_on() -> None:
    with style.context():
        figure = claims_by_age(table(LEAD)).figure
        figure.canvas.draw()
        (found,) = series(figure)
    assert found.labels == ("D", "", "value")
    assert len(found.points) == len(TURNING) * len(LEAD)
    by_place = {point[2:4]: point[4] for point in found.points}
    value = next(v for (at, sentence), v in by_place.items() if at == "10" and "faster" in sentence)
    assert value.startswith("reproduced: average error over training, baseline − DG, ")
    assert value.endswith("]")
