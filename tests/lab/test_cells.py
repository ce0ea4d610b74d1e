"""What a cell is, and which cells a sweep asks for."""

import dataclasses
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delightful.lab.cells import DEFAULT, SCALES, Cell, Plan, Point, Sweep
from delightful.lab.config import canonical, chosen, require, stated
from delightful.lab.errors import LabError
from delightful.paper import EXPERIMENTS
from delightful.paper.bandit.config import ALIGN, TRAIN, AlignmentConfig, BanditConfig
from delightful.paper.bandit.sweep import ALIGNMENT, TRAINING

CONFIG = AlignmentConfig(method="dg", actions=100, error=0.5, batch=1000, baseline=0.5, batches=20)
CELL = Cell(ALIGN, CONFIG, first_seed=0, seeds=20)

SWEEPS = [sweep for experiment in EXPERIMENTS.values() for sweep in experiment.sweeps]
CONFIGS = [config for experiment in EXPERIMENTS.values() for config in experiment.configs]


def test_the_id_of_a_cell_never_changes() -> None:
    # Stored results are found by this id: if it changes without a new version, they are orphans.
    assert CELL.id == "a388380034654be9eb8c1ab66ec1b0aaac22471c39f84c17a135186f227f07aa"


def test_equal_cells_share_an_id() -> None:
    assert replace(CELL, config=replace(CONFIG)).id == CELL.id


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(AlignmentConfig)])
def test_every_config_field_changes_the_id(field: str) -> None:
    value = {"method": "pg"}.get(field) or getattr(CONFIG, field) / 2
    assert replace(CELL, config=replace(CONFIG, **{field: value})).id != CELL.id


def test_version_program_and_seeds_change_the_id() -> None:
    others = [
        replace(CELL, program=replace(ALIGN, version=ALIGN.version + 1)),
        replace(CELL, program=replace(ALIGN, name="bandit/other")),
        replace(CELL, first_seed=1),
        replace(CELL, seeds=21),
    ]
    assert len({cell.id for cell in [CELL, *others]}) == 5


def test_what_leaves_the_result_alone_leaves_the_id_alone() -> None:
    moved = replace(ALIGN, block=7, seconds=lambda _: 1.0, entry="elsewhere:run")
    assert replace(CELL, program=moved).id == CELL.id


@pytest.mark.parametrize(
    "spelling", ["dg:temperature=1.0", "dg:temperature=1", "dg:", "dg:level=token,temperature=1e0"]
)
def test_the_spelling_of_a_method_does_not_change_the_id(spelling: str) -> None:
    assert replace(CELL, config=canonical(replace(CONFIG, method=spelling))).id == CELL.id


def test_an_option_of_a_method_changes_the_id() -> None:
    other = canonical(replace(CONFIG, method="dg:temperature=2"))
    assert replace(CELL, config=other).id != CELL.id


# Sweeps and plans


@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda sweep: sweep.name)
@pytest.mark.parametrize("scale", SCALES)
def test_every_sweep_has_cells_at_every_scale(sweep: Sweep, scale: str) -> None:
    cells = sweep.cells(Plan(scale))
    assert cells
    assert len({cell.id for cell in cells}) == len(cells)
    assert {type(cell.config) for cell in cells} <= set(CONFIGS)


@given(total=st.integers(1, 3000), block=st.integers(1, 700))
def test_blocks_cover_exactly_the_seeds_asked_for(total: int, block: int) -> None:
    sweep = replace(
        ALIGNMENT, program=replace(ALIGN, block=block), points=lambda _: [Point(CONFIG)]
    )
    cells = sweep.cells(Plan("smoke", total))
    seeds = [s for c in cells for s in range(c.first_seed, c.first_seed + c.seeds)]
    assert seeds == list(range(total))
    assert max(cell.seeds for cell in cells) <= block


def test_the_scale_says_how_many_seeds_unless_the_plan_does() -> None:
    def seeds(plan: Plan) -> set[int]:
        return {cell.seeds for cell in ALIGNMENT.cells(plan)}

    assert seeds(Plan("smoke")) == {ALIGNMENT.seeds["smoke"]}
    assert seeds(Plan("smoke", seeds=3)) == {3}


def test_methods_replace_the_sweeps_own() -> None:
    cells = TRAINING.cells(Plan("smoke", methods=("awr", "dg:temperature=2")))
    assert [cell.config.method for cell in cells] == ["awr", "dg:temperature=2.0"]


def test_methods_that_are_the_same_are_run_once() -> None:
    assert len(TRAINING.cells(Plan("smoke", methods=("dg", "dg:temperature=1")))) == 1


# Roles: what each config of a sweep is there for


@dataclass(frozen=True)
class BaselineConfig:
    """Of a third-party baseline: no method of ours."""

    steps: int = 20

    def check(self) -> None:
        require(self.steps > 0, "steps must be > 0", self.steps)


BASELINE = replace(TRAIN, name="test/baseline", block=1)
MIXED = replace(
    TRAINING,
    name="test/mixed",
    points=lambda _: [
        Point(BanditConfig(method="pg", batch=5), "rival"),
        Point(BanditConfig(method="dg", batch=6)),
        Point(BanditConfig(method="dg", batch=6), varied="batch"),
        Point(BanditConfig(method="dg", batch=7), varied="batch"),
        Point(BaselineConfig(), "third-party", program=BASELINE),
    ],
    seeds={"smoke": 2, "quick": 2, "paper": 2},
    fixed=("steps",),
)


def roles(*methods: str) -> list[tuple[str, int, str, tuple[str, ...]]]:
    cells = MIXED.cells(Plan("smoke", methods=methods))
    ours = [cell for cell in cells if cell.program is TRAIN]
    return [(c.config.method, c.config.batch, c.role, c.varied) for c in ours]


def test_a_config_on_several_grids_is_one_cell_that_names_them_all() -> None:
    assert roles() == [
        ("pg", 5, "rival", (DEFAULT,)),
        ("dg", 6, "main", (DEFAULT, "batch")),
        ("dg", 7, "main", ("batch",)),
    ]


def test_the_role_is_no_part_of_the_id() -> None:
    cell = replace(CELL, role="rival", varied=("batch",))
    assert (cell, cell.id) == (CELL, CELL.id)


def test_a_point_may_have_a_program_of_its_own() -> None:
    cells = [cell for cell in MIXED.cells(Plan("smoke")) if cell.role == "third-party"]
    assert [(c.program.name, c.first_seed, c.seeds) for c in cells] == [
        ("test/baseline", 0, 1),
        ("test/baseline", 1, 1),
    ]


def test_a_method_that_the_sweep_has_keeps_its_role_and_settings() -> None:
    assert roles("pg") == [("pg", 5, "rival", (DEFAULT,))]
    assert roles("dg:temperature=2") == [
        ("dg:temperature=2.0", 6, "main", (DEFAULT, "batch")),
        ("dg:temperature=2.0", 7, "main", ("batch",)),
    ]


def test_any_other_method_is_a_rival_with_the_settings_of_the_main_method() -> None:
    assert roles("awr") == [
        ("awr", 6, "rival", (DEFAULT, "batch")),
        ("awr", 7, "rival", ("batch",)),
    ]


def test_third_party_baselines_stay_whatever_the_method() -> None:
    cells = MIXED.cells(Plan("smoke", methods=("awr",)))
    assert [cell.config for cell in cells if cell.role == "third-party"] == [BaselineConfig()] * 2


def test_a_field_that_a_baseline_shares_cannot_be_changed() -> None:
    with pytest.raises(LabError, match="steps cannot be changed in test/mixed: its third-party"):
        MIXED.cells(Plan("smoke", changes={"steps": "30"}))


def test_set_leaves_configs_without_that_field_alone() -> None:
    cells = MIXED.cells(Plan("smoke", changes={"batch": "9"}))
    assert {c.config.batch for c in cells if c.program is TRAIN} == {9}
    assert {c.config for c in cells if c.program is BASELINE} == {BaselineConfig()}


def test_set_changes_a_field_of_every_config() -> None:
    cells = TRAINING.cells(Plan("smoke", changes={"step_size": "0.2", "batch": "7"}))
    assert [(c.config.step_size, c.config.batch) for c in cells] == [(0.2, 7)] * len(cells)
    assert {c.id for c in cells}.isdisjoint(c.id for c in TRAINING.cells(Plan("smoke")))


def test_a_whole_number_may_be_written_with_an_exponent() -> None:
    (cell,) = TRAINING.cells(Plan("smoke", 1, ("dg",), {"steps": "1e3"}))
    assert cell.key["config"]["steps"] == 1000
    assert isinstance(cell.config.steps, int)


def test_the_options_of_a_plan_read_as_they_were_given() -> None:
    plan = Plan("smoke", 3, ("pg", "dg"), {"batch": "7"})
    assert plan.options == "--scale smoke --seeds 3 --method pg --method dg --set batch=7"


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"changes": {"batsh": "7"}}, "unknown field .*'batsh': did you mean batch"),
        ({"changes": {"batch": "7.5"}}, "batch must be a whole number, got '7.5'"),
        ({"changes": {"batch": "inf"}}, "batch must be a whole number, got 'inf'"),
        ({"changes": {"batch": "0"}}, "batch must be at least 1, got 0"),
        ({"changes": {"step_size": "fast"}}, "step_size must be a number, got 'fast'"),
        ({"changes": {"step_size": "nan"}}, "step_size must be"),
        ({"changes": {"step_size": "inf"}}, "step_size"),
        ({"changes": {"baseline": "nan"}}, "baseline"),
        ({"methods": ("dgg",)}, "method must be one of pg, dg"),
        ({"methods": ("dg:heat=2",)}, "takes temperature"),
        ({"methods": ("dg:temperature=-1",)}, "temperature must be >= 0, got -1"),
        ({"methods": ("dg:max_surprisal=high",)}, "max_surprisal"),
        ({"seeds": 0}, "--seeds must be at least 1, got 0"),
    ],
    ids=str,
)
def test_a_senseless_plan_is_refused_in_one_sentence(plan: dict, message: str) -> None:
    with pytest.raises(LabError, match=message) as caught:
        [cell.id for cell in TRAINING.cells(Plan("smoke", **plan))]
    assert str(caught.value)[-1] in ".?"


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.__name__)
def test_every_field_says_where_its_value_comes_from(config: type) -> None:
    for field in dataclasses.fields(config):
        sources = [field.metadata.get("stated"), field.metadata.get("chosen")]
        assert sum(source is not None for source in sources) == 1, field.name
        assert any(sources), f"{field.name} gives an empty reason"


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.__name__)
def test_the_defaults_of_every_config_pass_its_own_check(config: type) -> None:
    assert canonical(config()) == config()


def test_a_config_cannot_be_changed_in_place() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        BanditConfig().steps = 3  # type: ignore[misc]


@dataclass(frozen=True)
class Grown:
    size: int = stated(1, "stated")
    kind: str = chosen("plain", "a reason", before="plain")

    def check(self) -> None:
        pass


def test_a_field_that_was_added_leaves_the_ids_of_earlier_runs_as_they_were():
    def key(config):
        return Cell(ALIGN, config, 0, 1).key["config"]

    assert key(Grown(size=3)) == {"size": 3}
    assert key(Grown(size=3, kind="new")) == {"size": 3, "kind": "new"}
