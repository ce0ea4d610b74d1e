"""Every figure of Token Reversal, drawn from runs whose outcome is known: it shows those numbers.

Also of runs that a user changed: then it shows what is there, or nothing.
"""

import functools
import math

import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from delightful.lab import style
from delightful.lab.cells import Plan
from delightful.paper.tokens import EXPERIMENT
from delightful.paper.tokens.figures import FIGURES
from delightful.paper.tokens.figures.staleness import FEWEST
from delightful.paper.tokens.sweep import WITH_FRESH, WITH_STALE

BY_ID = {figure.id.removeprefix("tokens/"): figure for figure in FIGURES}
COPIES = [  # the same drawing of runs with fresh actors
    name for name in BY_ID if name.endswith("-fresh") and name != "error-fresh"
]
OF_VERDICTS = ["claims-by-age"]  # which test_turning.py tests
OF_RUNS = [n for n, f in BY_ID.items() if f.sweep and n not in (*COPIES, *OF_VERDICTS)]
LINES = [name for name in OF_RUNS if name not in ("scaling", "tuning", "staleness", "author")]
KINDS = [name for name in OF_RUNS if name not in ("extended", "variants", "all-or-nothing")]
SEEDS = 3


def changed(*methods, scale="paper", **fields):
    changes = {name: str(value) for name, value in fields.items()}
    return Plan(scale, methods=methods, changes=changes)


PLANS = {
    "paper": changed(),
    "quick": changed(scale="quick"),
    "smoke": changed(scale="smoke"),
    "dg alone": changed("dg"),
    "pg and awr": changed("pg", "awr"),
    "steps": changed(steps=500),
    "rate": changed(learning_rate=1e-3),
    "one pass": changed(epochs=1),
    "penalty": changed(kl=0.1),
    "task": changed(task="copy"),
    "length": changed(length=10),
    "awr alone": changed("awr"),
    "ppo and pmpo": changed("ppo", "pmpo"),
    "two clips": changed("ppo:clip=0.1", "ppo:clip=0.4"),
}
SOME = {  # plans that matter to these figures alone
    "quick": ("scaling", "tuning", "extended"),
    "dg alone": KINDS,
    "pg and awr": KINDS,
    "steps": ("error",),
    "rate": ("error", "tuning", "learning-rate"),
    "one pass": ("error", "tuning"),
    "penalty": ("tuning",),
    "task": ("variants",),
    "length": ("scaling", "all-or-nothing"),
    "awr alone": ("gate", "additive"),
    "ppo and pmpo": ("tuning",),
    "two clips": ("tuning",),
}
EVERY = [(n, p) for n in OF_RUNS for p in PLANS if n in SOME.get(p, OF_RUNS)]
EMPTY = {("tuning", "dg alone"), ("tuning", "pg and awr"), ("additive", "awr alone")}


def error(config):
    """A power law in both sizes, another for every method and setting, that falls in training."""
    start = {"pg": 0.03, "ppo": 0.04, "pmpo": 0.05, "dg": 0.02}.get(config.method, 0.06)
    size = config.length ** (10 * start) * config.vocabulary**0.2
    change = 1 + config.kl / 10 + 30 * config.learning_rate
    return {
        "error": start * size * change * np.array([1.0, 0.5, 0.25, 0.25]),
        "gate_good": (0.55, 0.6, 0.55, 0.5),
        "gate_bad": (0.45, 0.4, 0.45, 0.5),
        "surprisal": (0.7, 0.5, 0.3, 0.1),
    }


def flawless(_):
    return dict.fromkeys(("error", "gate_good", "gate_bad", "surprisal"), 0.0)


def learned(config):
    """DG and PMPO make no error at all, the others none at the end."""
    if config.method.partition(":")[0] in ("pmpo", "dg"):
        return {"error": 0.0, "surprisal": (0.7, 0.5, 0.1, 0.0), "gate_bad": 0.0}
    return {"error": (0.5, 0.2, 0.1, 0.0)}


@pytest.fixture(scope="module")
def table(runs):
    @functools.cache
    def of(name, plan="paper", seeds=SEEDS, measured=error):
        return runs(BY_ID[name].sweep, measured, PLANS[plan], seeds)

    return of


@pytest.fixture(scope="module")
def drawn(table):
    """A figure as `delightful figure` would draw it, of which several tests ask."""

    @functools.cache
    def draw(name, plan="paper", seeds=SEEDS, measured=error):
        with style.context():
            drawing = BY_ID[name].draw(table(name, plan, seeds, measured))
        plt.close(drawing.figure)
        return drawing

    return draw


def laid_out(drawing):
    """To the last tick, where a scale may turn out not to fit."""
    with style.context():
        drawing.figure.draw_without_rendering()


def lines(drawing):
    """The values of every line; a level that spans its panel is one value."""
    every = [line for axis in drawing.figure.axes for line in axis.get_lines()]
    return [y[:1] if list(x) == [0, 1] else y for x, y in (line.get_data() for line in every)]


# Every figure, of every plan


@pytest.mark.parametrize(("name", "plan"), EVERY)
def test_what_there_is_to_show_is_drawn(drawn, name, plan):
    numbers = drawn(name, plan).numbers
    assert numbers.is_empty() == ((name, plan) in EMPTY)
    shown = numbers if name != "scaling" else numbers.filter(~pl.col("metric").str.contains("exp"))
    assert shown["mean"].null_count() == 0
    assert shown["mean"].is_finite().all()


@pytest.mark.parametrize(("name", "plan"), [case for case in EVERY if case not in EMPTY])
def test_a_mean_is_over_the_seeds_of_one_config(drawn, name, plan):
    assert set(drawn(name, plan).numbers["seeds"].drop_nulls()) == {SEEDS}


@pytest.mark.parametrize("name", [*KINDS, "variants"])
def test_a_figure_fits_its_frame(drawn, name):
    laid_out(drawn(name))


@pytest.mark.parametrize("name", KINDS)
def test_runs_that_come_to_make_no_error_are_drawn_too(drawn, name):
    drawing = drawn(name, "smoke", SEEDS, learned)
    assert drawing.numbers["mean"].drop_nulls().min() == 0
    laid_out(drawing)


@pytest.mark.parametrize("name", OF_RUNS)
def test_runs_without_any_error_are_drawn_too(drawn, name):
    assert set(drawn(name, "smoke", SEEDS, flawless).numbers["mean"].drop_nulls()) == {0.0}


@pytest.mark.parametrize("plan", ["smoke", "paper"])
@pytest.mark.parametrize("name", LINES)
def test_the_lines_are_the_numbers(drawn, name, plan):
    drawing = drawn(name, plan)
    shown = np.concatenate(lines(drawing))
    assert sorted(shown) == sorted(drawing.numbers["mean"])
    assert len(shown) > 0
    assert drawing.numbers["se"].null_count() == 0


@pytest.mark.parametrize("name", OF_RUNS)
def test_a_single_seed_has_means_but_no_errors(drawn, name):
    drawing = drawn(name, "smoke", 1)
    assert drawing.numbers["mean"].null_count() == 0
    if name != "tuning":
        assert drawing.numbers["se"].null_count() == len(drawing.numbers) > 0
    assert not any(axis.collections for axis in drawing.figure.axes)  # no bands either


# Numbers that are those of the table


def of_seeds(table, metric, step=None, **where):
    """Mean and standard error over seeds, by numpy: of a record, or if there is none of regret."""
    rows = table.filter(**where).sort("seed", "step")
    runs = rows[metric].to_numpy().astype(np.float64).reshape(rows["seed"].n_unique(), -1)
    steps = sorted(rows["step"].unique().to_list())
    values = runs.mean(1) if step is None else runs[:, steps.index(step)]
    return values.mean(), values.std(ddof=1) / math.sqrt(len(values))


def is_row(numbers, expected, **where):
    row = numbers.filter(**where)
    assert (row["mean"].item(), row["se"].item()) == pytest.approx(expected, rel=1e-5)


def test_figure_8_shows_the_error_per_episode_and_per_gradient_step(drawn, table):
    numbers, rows = drawn("error-fresh").numbers, table("error-fresh")
    for method in WITH_FRESH.settings:
        for step in (250, 500, 750, 1000):
            expected = of_seeds(rows, "error", step, method=method)
            is_row(numbers, expected, x="batches", method=method, step=step)
    by_update = numbers.filter(x="gradient steps")
    assert by_update.filter(method="ppo")["step"].to_list() == [1000]
    is_row(by_update, of_seeds(rows, "error", 250, method="ppo"), method="ppo")
    assert by_update.filter(method="dg")["step"].to_list() == [250, 500, 750, 1000]


def test_figure_9_shows_the_final_error_and_the_regret_at_each_size(drawn, table):
    numbers, rows = drawn("scaling").numbers, table("scaling")
    for field, other in (("length", {"vocabulary": 2}), ("vocabulary", {"length": 10})):
        for size in rows.filter(**other)[field].unique():
            config = {"method": "pmpo", field: size, **other}
            where = {"method": "pmpo", field: float(size)}
            final, regret = (
                of_seeds(rows, "error", 10_000, **config),
                of_seeds(rows, "error", **config),
            )
            is_row(numbers, final, metric="error", **where)
            is_row(numbers, regret, metric="regret", **where)


def test_figure_9_fits_the_exponents_that_there_are(drawn):
    numbers, figure = drawn("scaling").numbers, drawn("scaling").figure
    for axis, field, exponents in (
        (figure.axes[2], "length", {"pg": 0.3, "ppo": 0.4, "pmpo": 0.5, "dg": 0.2}),
        (figure.axes[3], "vocabulary", dict.fromkeys(WITH_FRESH.settings, 0.2)),
    ):
        fits = numbers.filter(metric=f"exponent in {field}")
        found = dict(zip(fits["method"], fits["exponent"], strict=True))
        assert found == pytest.approx(exponents, abs=1e-6)
        assert (fits["exponent_low"] < fits["exponent_high"]).all()
        texts = [text.get_text() for text in axis.get_legend().get_texts()]
        begin = sorted(text.partition(" [")[0] for text in texts)
        assert begin == sorted(f"{m.upper()}: {k:.2f}" for m, k in exponents.items())


def test_figure_9_and_its_claims_have_the_same_exponents(drawn, table, decided):
    numbers, claims = drawn("scaling").numbers, {claim.id: claim for claim in EXPERIMENT.claims}
    for field in ("length", "vocabulary"):
        _, outcomes, _ = decided(claims[f"tokens/exponent-{field}"], table("scaling"), 1)
        fits = numbers.filter(metric=f"exponent in {field}")
        exponents = dict(zip(fits["method"], fits["exponent"], strict=True))
        gaps = {m.upper(): k - exponents["dg"] for m, k in exponents.items() if m != "dg"}
        found = {outcome.case: outcome.estimate.value for outcome in outcomes}
        assert found == pytest.approx(gaps, abs=1e-12)


def test_figures_of_the_appendix_and_beyond_the_paper_are_marked_so():
    assert [name for name, figure in BY_ID.items() if not figure.appendix] == [
        "task",
        "error",
        "scaling",
    ]


def test_figure_9_fits_one_config_of_a_method_that_is_run_with_several(drawn):
    fits = drawn("scaling", "dg alone").numbers.filter(pl.col("metric").str.contains("exponent"))
    assert fits["exponent"].to_list() == pytest.approx([0.2, 0.2], abs=1e-6)


def test_figure_8_shows_the_error_of_stale_actors_along_training(drawn, table):
    numbers, rows = drawn("error").numbers, table("error")
    assert set(rows["ages"]) == {"uniform"}
    for method in WITH_STALE.settings:
        for step in (250, 1000):
            expected = of_seeds(rows, "error", step, method=method)
            is_row(numbers, expected, method=method, step=step)


@pytest.mark.parametrize("name", COPIES)
def test_a_figure_of_fresh_actors_draws_what_that_of_stale_ones_does(drawn, name):
    fresh, stale = drawn(name, "smoke"), drawn(name.removesuffix("-fresh"), "smoke")
    assert fresh.numbers.columns == stale.numbers.columns
    assert len(fresh.figure.axes) == len(stale.figure.axes)


def test_the_figure_of_staleness_takes_each_method_at_its_best_rate(drawn, table):
    seeds = ("paper", FEWEST)  # for intervals
    numbers, rows = drawn("staleness", *seeds).numbers, table("staleness", *seeds)
    assert sorted(numbers["delay"].unique().to_list()) == [0, 1, 3, 10, 30, 100]
    for method in ("pg", "dg"):  # the made-up errors grow with the rate
        where = {"method": method, "delay": 10}
        expected = of_seeds(rows, "error", learning_rate=3e-5, **where)
        is_row(numbers, expected, metric="regret", **where)
        gap = numbers.filter(metric="regret − DG's", **where)["mean"].to_list()
        smallest = {"learning_rate": 3e-5, "delay": 10}
        means = [of_seeds(rows, "error", method=m, **smallest) for m in ("pg", "dg")]
        assert gap == ([] if method == "dg" else [pytest.approx(means[0][0] - means[1][0])])


def test_figure_20_shows_the_regret_of_every_setting(drawn, table):
    drawing, rows = drawn("tuning-fresh"), table("tuning-fresh")
    maps = drawing.figure.axes
    assert [len(axis.texts) for axis in maps] == [30, 35]
    penalties = ["0", "0.01", "0.03", "0.1", "0.3", "1"]
    for axis, extra in zip(maps, ([], ["one pass"]), strict=True):
        assert [tick.get_text() for tick in axis.get_yticklabels()] == extra + penalties
    mean, _ = of_seeds(rows, "error", method="ppo:clip=0.4", kl=0.3)
    cell = drawing.numbers.filter(method="ppo", clip=0.4, kl=0.3)
    assert cell["mean"].item() == pytest.approx(mean, rel=1e-5)
    assert f"{mean:.3f}" in {text.get_text() for text in maps[0].texts}
    once, _ = of_seeds(rows, "error", method="pmpo", epochs=1)
    cell = drawing.numbers.filter(method="pmpo", preference=0.5, epochs=1)
    assert cell["mean"].item() == pytest.approx(once, rel=1e-5)


@pytest.mark.parametrize("plan", ["paper", "one pass", "penalty", "ppo and pmpo"])
def test_figure_20_tells_its_rows_apart(drawn, plan):
    for axis in drawn("tuning", plan).figure.axes:
        labels = [tick.get_text() for tick in axis.get_yticklabels()]
        assert len(set(labels)) == len(labels)


def test_figure_20_shows_every_penalty_of_the_clips_that_are_asked_for(drawn):
    numbers = drawn("tuning-fresh", "two clips").numbers.filter(epochs=4)
    assert len(numbers) == numbers.select("clip", "kl").n_unique() == 2 * 6


def test_figure_21_shows_the_regret_at_each_rate_and_the_error_along_training(drawn, table):
    for rate in table("learning-rate")["learning_rate"].unique():
        where = {"method": "dg", "learning_rate": rate}
        expected = of_seeds(table("learning-rate"), "error", **where)
        is_row(drawn("learning-rate").numbers, expected, **where)
    expected = of_seeds(table("extended"), "error", 7500, method="pg")
    is_row(drawn("extended").numbers, expected, method="pg", step=7500)


def test_figure_23_has_a_panel_for_each_of_the_eight_variants(drawn, table):
    drawing = drawn("variants")
    tasks = ("copy", "flip", "reverse-copy", "reverse-flip")
    titles = [f"{task}, {reward}" for reward in ("bag", "sequential") for task in tasks]
    assert [axis.get_title() for axis in drawing.figure.axes] == titles
    assert all(len(axis.get_lines()) == 4 for axis in drawing.figure.axes)
    where = {"method": "ppo", "task": "flip", "reward": "sequential"}
    expected = of_seeds(table("variants"), "error", 500, **where)
    is_row(drawing.numbers, expected, step=500, **where)
    assert len(drawn("variants", "task").figure.axes) == 2


def test_figure_24_shows_every_mixture_beside_reinforce_and_dg(drawn, table):
    drawing, rows = drawn("additive"), table("additive")
    (axis,) = drawing.figure.axes
    labels = [f"additive, η = {eta}" for eta in ("0.2", "0.5", "1", "2", "5")]
    assert [line.get_label() for line in axis.get_lines()] == [*labels, "REINFORCE", "DG"]
    spec = "additive:alpha=0.75,temperature=2.0"
    mixture = {"method": "additive", "alpha": 0.75, "temperature": 2.0}
    best = {"learning_rate": 3e-4}  # runs get worse with the rate
    is_row(drawing.numbers, of_seeds(rows, "error", method=spec, **best), **best, **mixture)
    for name, words in (("pg", "REINFORCE"), ("dg", "DG")):
        is_row(drawing.numbers, of_seeds(rows, "error", method=name), method=words)


def test_the_gates_of_dg_are_shown_and_the_surprisal_of_all(drawn):
    numbers = drawn("gate").numbers
    for metric, values in (
        ("gate_good", (0.55, 0.6, 0.55, 0.5)),
        ("gate_bad", (0.45, 0.4, 0.45, 0.5)),
    ):
        shown = numbers.filter(metric=metric)
        assert set(shown["method"]) == {"dg"}
        assert shown["mean"].to_list() == pytest.approx(values, rel=1e-6)
    assert set(numbers.filter(metric="surprisal")["method"]) == set(WITH_FRESH.settings)


def test_without_dg_the_gates_of_another_are_shown_under_its_name(drawn):
    drawing = drawn("gate", "awr alone")
    assert "AWR" in drawing.figure.axes[0].get_title()


# The diagrams


def test_figure_7_shows_a_prompt_and_its_reversal():
    with style.context():
        drawing = BY_ID["task"].draw()
        laid_out(drawing)
    plt.close(drawing.figure)
    assert drawing.numbers["answer"].to_list() == drawing.numbers["prompt"].to_list()[::-1]
    texts = [text.get_text() for text in drawing.figure.axes[0].texts]
    assert texts[:6] == ["1", "0", "0", "1", "1", "prompt x"]


def test_figure_22_shows_what_each_reward_pays_for():
    with style.context():
        drawing = BY_ID["rewards"].draw()
        laid_out(drawing)
    plt.close(drawing.figure)
    # Right, right, wrong, right, wrong: three tokens, two until the first mistake, no whole answer.
    paid = dict(zip(drawing.numbers["reward"], drawing.numbers["value"], strict=True))
    assert paid == pytest.approx({"bag": 0.6, "sequential": 0.4, "all": 0.0})
    for axis, kind, tokens in zip(drawing.figure.axes, paid, (3, 2, 0), strict=True):
        assert axis.get_title().endswith(f"reward {paid[kind]:g}")
        colours = [to_hex(patch.get_facecolor()) for patch in axis.patches]
        assert colours.count("#bfe3bf") == tokens
        assert colours.count("#f2b8b5") == 2
