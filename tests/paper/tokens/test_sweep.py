"""Which runs the figures and claims of Token Reversal ask for, at each scale."""

import pytest

from delightful.agents.tokens.config import TokensConfig
from delightful.lab.cells import SCALES, Plan
from delightful.lab.config import canonical
from delightful.paper.tokens import sweep
from delightful.registry import parse_method

PLANS = [(s, scale) for s in sweep.SWEEPS for scale in SCALES if scale in s.seeds]
OURS = [s for s in sweep.SWEEPS if s is not sweep.AUTHORS]
IDS = [f"{s.name}-{scale}" for s, scale in PLANS]


def configs(which, scale="paper"):
    return [cell.config for cell in which.cells(Plan(scale, seeds=1))]


def options(which, method, scale="paper"):
    """The options of every spec of a method, each as a tuple."""
    parsed = [parse_method(config.method) for config in configs(which, scale)]
    return [tuple(values.values()) for found, values in parsed if found.name == method]


def test_the_paper_has_thirty_seeds_everywhere():
    assert {s.seeds["paper"] for s in sweep.SWEEPS} == {30}
    assert sum(cell.seeds for cell in sweep.FRESH.curves.cells(Plan("paper"))) == 4 * 30


@pytest.mark.parametrize("which", sweep.SWEEPS, ids=lambda s: s.name)
def test_the_paper_trains_for_1000_batches_or_10000(which):
    long = which.name.startswith(("tokens/scaling", "tokens/extended"))
    assert {config.steps for config in configs(which)} == {10_000 if long else 1000}


@pytest.mark.parametrize("which", OURS, ids=lambda s: s.name)
def test_each_rival_is_there_at_the_rate_and_passes_it_was_given(which):
    there = [(c.method, c.learning_rate, c.epochs) for c in configs(which)]
    stale = which in (*sweep.STALE, sweep.STALENESS)
    actors = sweep.WITH_STALE if stale else sweep.WITH_FRESH
    for method, fields in actors.settings.items():
        assert (method, fields["learning_rate"], fields["epochs"]) in there


def test_every_rate_of_a_rival_is_on_the_grid_that_chose_it():
    assert {fields["learning_rate"] for fields in sweep.WITH_FRESH.settings.values()} <= set(
        sweep.RATES
    )
    for config in configs(sweep.FRESH.curves):
        assert config in configs(sweep.FRESH.rate)


def test_every_method_is_tried_at_every_rate():
    there = {(c.method, c.learning_rate) for c in configs(sweep.FRESH.rate)}
    assert there == {
        (m, rate) for m in sweep.WITH_FRESH.settings for rate in (1e-4, 3e-4, 1e-3, 3e-3)
    }


def test_the_sizes_are_those_of_figure_9():
    sizes = {(c.length, c.vocabulary) for c in configs(sweep.FRESH.scaling)}
    assert sizes == {(h, 2) for h in (5, 10, 20, 40)} | {(10, m) for m in (2, 4, 8, 16, 32, 64)}
    assert len(configs(sweep.FRESH.scaling)) == 4 * len(sizes)


def test_the_mixtures_are_those_of_appendix_d():
    mixtures = set(options(sweep.FRESH.additive, "additive"))
    assert len(mixtures) == 30
    assert {eta for _, eta in mixtures} == {0.2, 0.5, 1.0, 2.0, 5.0}
    alphas = sorted({alpha for alpha, _ in mixtures})
    assert (alphas[0], alphas[-1]) == (0.0, 1.25)
    assert len(mixtures) == len(alphas) * 5
    tried = [c for c in configs(sweep.FRESH.additive) if c.method.startswith("add")]
    assert {(c.method, c.learning_rate) for c in tried} == {
        (c.method, rate) for c in tried for rate in (3e-4, 1e-3, 3e-3)
    }


def test_ppo_and_pmpo_are_tuned_over_whole_grids():
    tuned = configs(sweep.FRESH.tuning)
    assert len(tuned) == len(set(tuned)) == 30 + 30 + 5 + 2  # PPO; PMPO with four and one; PG, DG
    assert {c for c, _ in options(sweep.FRESH.tuning, "ppo")} == {0.05, 0.1, 0.2, 0.4, 0.8}
    assert {p for (p,) in options(sweep.FRESH.tuning, "pmpo")} == {0.0, 0.25, 0.5, 0.75, 1.0}
    kls = {c.kl for c in tuned}
    assert kls == {0.0, 0.01, 0.03, 0.1, 0.3, 1.0}
    # With one pass over each batch the penalty has no gradient.
    assert {c.kl for c in tuned if c.epochs == 1} == {0.0}
    assert {c.epochs for c in tuned if c.method.startswith("ppo")} == {4}


def test_there_are_eight_variants_each_with_every_rival():
    kinds = {(c.task, c.reward) for c in configs(sweep.FRESH.variants)}
    tasks = ("copy", "flip", "reverse-copy", "reverse-flip")
    assert kinds == {(task, reward) for task in tasks for reward in ("bag", "sequential")}
    assert len(configs(sweep.FRESH.variants)) == 4 * 8


def test_all_or_nothing_pays_for_faultless_answers_only():
    assert {c.reward for c in configs(sweep.ALL_OR_NOTHING)} == {"all"}


@pytest.mark.parametrize(("which", "scale"), PLANS, ids=IDS)
def test_every_config_is_valid_and_there_once(which, scale):
    mine = [point.config for point in which.points(scale)]
    assert {canonical(config) for config in mine} == set(configs(which, scale))
    assert len(set(configs(which, scale))) == len(configs(which, scale))


@pytest.mark.parametrize("which", sweep.SWEEPS, ids=lambda s: s.name)
def test_a_smoke_test_is_tiny(which):
    for config in configs(which, "smoke"):
        assert config.length <= 4
        assert config.vocabulary <= 8
        assert config.steps * config.batch * config.epochs <= 256
        assert config.width * config.layers <= 8
    assert sum(c.program.seconds(c.config) for c in which.cells(Plan("smoke"))) < 5


@pytest.mark.parametrize("which", sweep.SWEEPS, ids=lambda s: s.name)
def test_the_quick_scale_is_a_part_of_the_papers(which):
    varied = ("method", "task", "reward", "length", "vocabulary", "learning_rate", "kl", "epochs")

    def kinds(scale):
        return {tuple(getattr(c, name) for name in varied) for c in configs(which, scale)}

    assert kinds("quick") <= kinds("paper")
    quick, paper = (sum(map(_cost, which.cells(Plan(s)))) for s in ("quick", "paper"))
    assert quick < paper / (3 if which is sweep.STALE.curves else 7)
    assert max(c.steps for c in configs(which, "quick")) <= 1500


def _cost(cell):
    return cell.program.seconds(cell.config) * cell.seeds


@pytest.mark.parametrize(
    "which",
    [
        sweep.STALE.curves,
        sweep.STALE.rate,
        sweep.STALE.tuning,
        sweep.STALE.additive,
        sweep.FRESH.rate,
        sweep.FRESH.additive,
    ],
    ids=lambda s: s.name,
)
def test_quick_runs_of_as_many_batches_are_the_papers_first_seeds(which):
    quick, paper = ({cell.id for cell in which.cells(Plan(scale))} for scale in ("quick", "paper"))
    assert quick < paper


@pytest.mark.parametrize("which", OURS, ids=lambda s: s.name)
def test_at_the_papers_scale_only_what_is_varied_differs_from_the_defaults(which):
    varied = {"method", "task", "reward", "length", "vocabulary", "learning_rate", "kl", "epochs"}
    for config in configs(which):
        default = TokensConfig()
        others = set(vars(default)) - varied - {"steps", "delay", "ages"}
        assert which is sweep.STALENESS or config.delay == (3 if which in sweep.STALE else 0)
        assert config.ages == ("uniform" if config.delay else "fixed")
        assert all(getattr(config, name) == getattr(default, name) for name in others)
