"""Claims decided and figures drawn from a store; every verdict is computed and could be another."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

import polars as pl
import pytest
from matplotlib import pyplot as plt

from delightful.lab import style
from delightful.lab.cells import Plan
from delightful.lab.decisions import Decision, counts, decide, decide_all
from delightful.lab.drawing import LONGEST_NAME, NothingToDrawError, draw
from delightful.lab.errors import LabError
from delightful.lab.experiment import Claim, Drawing
from delightful.lab.progress import run_missing
from delightful.lab.rendering import claim_paragraphs, claims_markdown, found
from delightful.lab.selection import plan_for
from delightful.lab.store import Store
from delightful.lab.verdicts import LEAST, confidence_of, judge, verdict_of
from delightful.lab.wording import expected, minus
from delightful.paper import EXPERIMENTS
from delightful.paper.bandit.sweep import ALIGNMENT
from delightful.registry import METHODS

CLAIMS = {claim.id: claim for experiment in EXPERIMENTS.values() for claim in experiment.claims}
FIGURES = {figure.id: figure for e in EXPERIMENTS.values() for figure in e.figures}
PLAN = Plan("quick", seeds=12, methods=("pg", "dg"))
SWEEPS = ("bandit/training", "bandit/alignment", "contexts/training")


@pytest.fixture(scope="module", autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    cache = tmp_path_factory.getbasetemp() / "cache"
    with mock.patch.dict(os.environ, XDG_CACHE_HOME=str(cache)):  # running sets more; put it back
        yield


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Twelve seeds of the runs that the claims are about; only to be read."""
    folder = tmp_path_factory.mktemp("ran")
    command = ["run", *SWEEPS, *PLAN.options.split(), "--store", str(folder)]
    subprocess.run([sys.executable, "-m", "delightful.cli", *command], check=True, timeout=200)
    return Store(folder)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A complete smoke run of the alignment sweep, to be spoilt."""
    store = Store(tmp_path / "store")
    run_missing(ALIGNMENT.cells(Plan("smoke")), store, 1)
    return store


def table_of(claim: Claim, store: Store) -> pl.DataFrame:
    assert claim.sweep is not None
    table = store.table(claim.sweep.cells(PLAN))
    assert table is not None
    return table


def decision_on(claim: Claim, store: Store, plan: Plan, scale: str) -> Decision:
    """Under the reading that stands for the paper."""
    return decide(claim, store, plan, scale)[0]


def verdict(claim: Claim, table: pl.DataFrame) -> str:
    assert claim.sweep is not None
    found = claim.check(claim.readings[0].prepare(table))
    confidence = confidence_of(claim.sweep.seeds["paper"])
    return verdict_of(claim.rule, judge(claim.rule, found, confidence))


# Verdicts


def swapped(table: pl.DataFrame) -> pl.DataFrame:
    """PG's runs under DG's name, and DG's under PG's."""
    other = {"pg": "dg", "dg": "pg"}
    return table.with_columns(pl.col("method").replace(other))


def tied(table: pl.DataFrame) -> pl.DataFrame:
    """PG's runs under both names."""
    pg = table.filter(pl.col("method") == "pg")
    return pl.concat([table.filter(pl.col("method") != "dg"), pg.with_columns(method=pl.lit("dg"))])


def flat(table: pl.DataFrame) -> pl.DataFrame:
    """The gap at the smallest batch for every batch: nothing vanishes."""
    keys = ["method", "error", "seed"]
    first = table.filter(pl.col("batch") == pl.col("batch").min()).select(*keys, "misalignment")
    return table.drop("misalignment").join(first, on=keys).select(table.columns)


def flat_for(method: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    mine = pl.col("method") == method
    return lambda table: pl.concat([flat(table.filter(mine)), table.filter(~mine)])


COMPARISONS = [
    "bandit/faster",
    "bandit/misalignment-below",
    "bandit/rebound",
    "bandit/monte-carlo-ratio",
    "contexts/faster",
    "contexts/gap-persists",
]


DECIDED = [c for c in COMPARISONS if c != "contexts/gap-persists"]  # open late, with 12 seeds


@pytest.mark.parametrize("claim_id", [*DECIDED, "bandit/gap-vanishes"])
def test_the_runs_reproduce_the_claim(ran: Store, claim_id: str) -> None:
    assert decision_on(CLAIMS[claim_id], ran, PLAN, "quick").verdict == "reproduced"


@pytest.mark.parametrize("spoil", [swapped, tied])
@pytest.mark.parametrize(
    "claim_id", [*COMPARISONS, "bandit/gap-always-smaller", "contexts/compounding"]
)
def test_a_comparison_fails_if_dg_does_no_better(
    ran: Store, claim_id: str, spoil: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    claim = CLAIMS[claim_id]
    found = verdict(claim, spoil(table_of(claim, ran)))
    # Differences that are all 0 are no certainty with so few seeds.
    assert found == "not reproduced" or (spoil is tied and found == "inconclusive")


@pytest.mark.parametrize("spoil", [flat, flat_for("pg"), flat_for("dg")])
def test_the_gap_must_vanish_for_both_methods(
    ran: Store, spoil: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    claim = CLAIMS["bandit/gap-vanishes"]  # it treats PG and DG alike, so a swap changes nothing
    table = table_of(claim, ran)
    assert verdict(claim, swapped(table)) == "reproduced"
    assert verdict(claim, spoil(table)) == "not reproduced"


@pytest.mark.parametrize(("seeds", "looked_at"), [(2, 2), (3, 3), (5, 3), (10, 7), (12, 7)])
def test_a_verdict_is_on_the_seeds_of_the_last_look(tmp_path, seeds: int, looked_at: int) -> None:
    store, plan = Store(tmp_path), Plan("smoke", seeds=seeds)  # the paper has 1,000
    run_missing(ALIGNMENT.cells(plan), store, 1)
    decision = decision_on(CLAIMS["bandit/gap-vanishes"], store, plan, "smoke")
    assert decision.seeds == looked_at
    assert (decision.verdict == "inconclusive") or seeds >= LEAST
    assert all(outcome.quantity.seeds == looked_at for outcome in decision.outcomes)


def test_an_inconclusive_claim_says_how_many_seeds_would_decide_it(tmp_path: Path) -> None:
    store, plan = Store(tmp_path), Plan("smoke", seeds=2)
    run_missing(ALIGNMENT.cells(plan), store, 1)
    decision = decision_on(CLAIMS["bandit/gap-vanishes"], store, plan, "smoke")
    assert decision.verdict == "inconclusive"
    assert decision.needed is not None
    assert f"{decision.needed} in all, would probably decide it" in found(decision)
    row = decision.row()
    assert row["seeds_needed"] == decision.needed
    assert row["rule"]["words"] == decision.claim.rule.words


@pytest.mark.parametrize(
    ("claim_id", "words"),
    [
        ("bandit/gap-vanishes", "at B of at least 1000 ("),
        ("mnist/temperature", "the range is η from 0.5 to 2 ("),
        ("mnist/wide-temperature", "at η from 0.2 to 5 ("),
        ("mnist/learning-rates", "at learning rates from 0.0001 to 0.001 ("),
        ("tokens/ppo-clip", "if the largest ε is at least 4 times the smallest ("),
        ("control/majority", "if at least 7 of the 28 tasks have been run with every method"),
        ("control/tuned", "with public scores at 0.5 to 2 times as many steps ("),
    ],
)
def test_what_a_check_selects_is_in_the_words_of_its_rule(claim_id: str, words: str) -> None:
    assert f"; {words}" in CLAIMS[claim_id].rule.words


# What is not there


def test_a_claim_without_all_its_runs_is_not_run_and_says_how(store: Store) -> None:
    claim, plan = CLAIMS["bandit/gap-vanishes"], Plan("smoke")
    assert decision_on(claim, store, plan, "smoke").verdict != "not run"
    (store.cells / f"{ALIGNMENT.cells(plan)[7].id}.json").unlink()
    decision = decision_on(claim, store, plan, "smoke")
    assert (decision.verdict, decision.seeds) == ("not run", None)
    assert decision.command.startswith("delightful run bandit/alignment --scale smoke")
    assert (decision.row()["value"], decision.row()["command"]) == (None, decision.command)


@pytest.mark.parametrize("scale", ["smoke", None])
def test_a_damaged_cell_is_named_and_nothing_smaller_is_used(store: Store, scale) -> None:
    run_missing(ALIGNMENT.cells(Plan("quick")), store, 1)
    plan = Plan(scale or "quick")
    path = store.cells / f"{ALIGNMENT.cells(plan)[7].id}.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    (decision,) = decide(CLAIMS["bandit/gap-vanishes"], store, plan, scale)
    assert (decision.verdict, decision.plan.scale) == ("not run", plan.scale)
    assert str(path) in decision.note
    with pytest.raises(LabError, match=path.name):
        draw(FIGURES["bandit/alignment"], store, plan, store.path / "figures")


@pytest.mark.parametrize(
    "claim_id", [claim.id for claim in CLAIMS.values() if claim.sweep is not None]
)
def test_every_claim_on_runs_is_not_run_in_an_empty_store(tmp_path: Path, claim_id: str) -> None:
    claim = CLAIMS[claim_id]
    assert claim.sweep is not None
    decision = decision_on(claim, Store(tmp_path), Plan("paper", 5), "paper")
    assert decision.verdict == "not run"
    assert decision.command.startswith(f"delightful run {claim.sweep.name} --scale paper --seeds 5")


def test_a_claim_that_compares_two_methods_is_not_run_on_one(store: Store) -> None:
    plan = Plan("smoke", methods=("pg",))
    decision = decision_on(CLAIMS["bandit/monte-carlo-ratio"], store, plan, "smoke")
    assert decision.verdict == "not run"
    assert "compares pg and dg" in decision.note


def test_the_largest_complete_scale_is_taken_unless_one_is_asked_for(store: Store) -> None:
    assert plan_for(ALIGNMENT, store, Plan("quick"), None).scale == "smoke"
    assert plan_for(ALIGNMENT, store, Plan("quick"), "quick").scale == "quick"
    run_missing(ALIGNMENT.cells(Plan("quick")), store, 1)
    assert plan_for(ALIGNMENT, store, Plan("quick"), None).scale == "quick"


def strict(text: str) -> object:
    """JSON as every reader takes it: no NaN."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


@pytest.mark.parametrize("claim_id", [c.id for c in CLAIMS.values() if c.sweep is ALIGNMENT])
def test_one_seed_has_no_interval_and_decides_nothing(tmp_path: Path, claim_id: str) -> None:
    store, plan = Store(tmp_path), Plan("smoke", seeds=1)
    run_missing(ALIGNMENT.cells(plan), store, 1)
    decision = decision_on(CLAIMS[claim_id], store, plan, "smoke")
    row = strict(json.dumps(decision.row()))
    assert isinstance(row, dict)
    assert row["verdict"] in ("inconclusive", "not run")
    assert (row["low"], row["high"]) == (None, None)


# Figures and tables


@pytest.mark.parametrize("figure_id", ["gate/coefficient", "bandit/curves", "contexts/curves"])
def test_a_figure_drawn_twice_is_the_same_to_the_byte(
    ran: Store, tmp_path: Path, figure_id: str
) -> None:
    once, again = (draw(FIGURES[figure_id], ran, PLAN, tmp_path / name) for name in ("a", "b"))
    assert set(once.files) == {"png", "svg", "csv"}
    for suffix, path in once.files.items():
        assert path.read_bytes() == again.files[suffix].read_bytes(), suffix
    assert pl.read_csv(once.files["csv"]).height > 0


def test_a_figure_without_its_runs_names_the_command(tmp_path: Path) -> None:
    run = f"delightful run bandit/alignment --scale quick --store {tmp_path}"
    with pytest.raises(LabError, match=f"give `{run}`"):
        draw(FIGURES["bandit/alignment"], Store(tmp_path), Plan("quick"), tmp_path)


def test_a_figure_with_nothing_to_draw_says_so_and_writes_nothing(tmp_path: Path) -> None:
    empty = replace(FIGURES["gate/coefficient"], draw=lambda: Drawing(plt.figure(), pl.DataFrame()))
    with pytest.raises(NothingToDrawError, match="gate/coefficient has nothing to draw"):
        draw(empty, Store(tmp_path), Plan("quick"), tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_the_table_of_claims_has_a_row_for_each(store: Store) -> None:
    claims = [claim for claim in CLAIMS.values() if claim.sweep]
    decisions = decide_all(claims, store, Plan("smoke"), "smoke")
    numbers, _, legend, _, *lines = claims_markdown(decisions).splitlines()
    assert f"{counts(decisions)['not run']} not run" in numbers
    assert "inconclusive: " in legend
    assert len(lines) == 2 + len(decisions)
    for decision, line in zip(decisions, lines[2:], strict=True):
        assert f"`{decision.command}`" in line
        rule = minus(decision.claim.rule.words)
        assert rule.replace("*", "\\*").replace("|", "\\|") in line


def test_the_terminal_shows_sentence_paper_value_rule_and_commands(store: Store) -> None:
    claims = [claim for claim in CLAIMS.values() if claim.sweep]
    for decision in decide_all(claims, store, PLAN, "quick"):
        shown, claim = dict(claim_paragraphs(decision, explain=True)), decision.claim
        assert shown[""] == f"{claim.sentence} ({claim.where})"
        assert shown.get("expected: ", "") == expected(claim)
        assert shown["rule: "] == f"{minus(claim.rule.words)}; with at least 3 seeds"
        assert shown["$ "] == decision.command.split(" && ")[-1]
        assert shown.get("here: ", "") == minus(found(decision))


def test_claims_on_one_sweep_read_its_cells_once(store: Store) -> None:
    claims = [claim for claim in CLAIMS.values() if claim.sweep is ALIGNMENT]
    with mock.patch.object(Store, "read", autospec=True, side_effect=Store.read) as read:
        for claim in claims:
            decide(claim, store, Plan("smoke"), "smoke")
    assert len(claims) > 1
    assert read.call_count == len(ALIGNMENT.cells(Plan("smoke")))


# Figures of changed runs


CHANGED = [
    (Plan("smoke"), ""),
    (Plan("smoke", seeds=3), "--seeds-3"),
    (Plan("smoke", methods=("pg", "awr")), "--pg-awr"),
    (Plan("smoke", changes={"batches": "2"}), "--batches-2"),
    (
        Plan("smoke", 3, ("pg", "dg:temperature=0.5"), {"actions": "9", "baseline": "-1"}),
        "--actions-9--baseline--1--pg-dg-temperature-0.5--seeds-3",
    ),
]


@pytest.mark.parametrize(("plan", "words"), CHANGED)
def test_a_change_is_in_the_file_name_and_the_subtitle(
    tmp_path: Path, plan: Plan, words: str
) -> None:
    store = Store(tmp_path)
    run_missing(ALIGNMENT.cells(plan), store, 1)
    drawn = draw(FIGURES["bandit/alignment"], store, plan, tmp_path / "figures")
    assert {path.stem for path in drawn.files.values()} == {f"bandit-alignment{words}"}
    assert ("changed:" in drawn.files["svg"].read_text("utf-8")) == bool(words)
    unchanged = draw(FIGURES["gate/coefficient"], store, plan, tmp_path / "figures")
    assert unchanged.files["png"].stem == "gate-coefficient"  # it has no runs


def test_the_seeds_of_a_run_that_was_stopped_are_no_change(store: Store, tmp_path: Path) -> None:
    figure, plan = FIGURES["bandit/alignment"], Plan("smoke", seeds=20)
    drawn = draw(figure, store, plan, tmp_path, asked=Plan("smoke"))
    assert drawn.files["png"].stem == "bandit-alignment"


def test_many_changes_have_a_bounded_name_of_their_own(tmp_path: Path) -> None:
    store, names = Store(tmp_path), set()
    for eta in (1.5, 2.5):
        specs = tuple(f"dg:temperature={eta + i}" for i in range(8))
        plan = Plan("smoke", 2, specs)
        run_missing(ALIGNMENT.cells(plan), store, 1)
        drawn = draw(FIGURES["bandit/alignment"], store, plan, tmp_path / "figures")
        names.add(drawn.files["png"].name)
    assert len(names) == 2
    assert max(map(len, names)) <= LONGEST_NAME + len("-01234567.png")


def test_a_method_is_drawn_as_it_was_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = replace(METHODS["pg"], colour="#123456", on_top=True)
    monkeypatch.setitem(METHODS, "mine", mine)
    with style.context():
        assert style.colour("mine") == "#123456"
        assert style.colour("dg") == METHODS["dg"].colour
    specs = ["dg", "mine:a=1", "pg", "awr"]
    assert style.ordered(specs) == ["awr", "pg", "dg", "mine:a=1"]


def test_no_two_methods_of_a_figure_look_alike() -> None:
    variants = [f"{name}:temperature={eta}" for name in ("dg", "mpo") for eta in range(6)]
    with style.context():
        plain = [style.colour(name) for name in (*METHODS, "cubic", "mine", "yours")]
        looks = [tuple(style.look(spec).values()) for spec in variants]
    assert len(set(plain)) == len(plain)
    assert len(set(looks)) == len(looks)
    assert not {look[0] for look in looks} & set(plain)
    with style.context():  # the same in every panel, and in every figure with the same methods
        assert [style.colour("cubic"), style.colour("mine")] == plain[-3:-1]
        assert style.colour("cubic") == plain[-3]
