"""README and docs say what the commands produced, and their code runs."""

import json
import re
import runpy
import subprocess
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import delightful as dg
from delightful.lab.cells import Plan
from delightful.lab.decisions import decide_all
from delightful.lab.drawing import draw
from delightful.lab.errors import LabError
from delightful.lab.experiment import Experiment, Figure
from delightful.lab.selection import plan_for, usable
from delightful.lab.store import Store
from delightful.paper import EXPERIMENTS
from delightful.paper.tokens import sweep
from delightful.plugins.gating import LOGGED, DelightConfig
from delightful.registry import METHODS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
RESULTS = ROOT / "docs" / "results"


def test_pages_hold_the_results_as_produced() -> None:
    for path, text in runpy.run_path(str(ROOT / "docs" / "refresh"))["pages"]().items():
        assert path.read_text("utf-8") == text, path


def test_docs_results_hold_every_claim_and_figure(tmp_path: Path) -> None:
    for experiment in EXPERIMENTS.values():
        folder = _published(experiment)
        rows = json.loads((folder / "claims.json").read_text("utf-8"))
        decided = {row["id"] for row in rows if row["id"].startswith(f"{experiment.name}/")}
        assert decided == {claim.id for claim in experiment.claims}
        for figure in (f for f in experiment.figures if not f.panel):
            if experiment.name in ("tokens", "frictions") and not _has_runs(figure):
                name = f"{figure.id.replace('/', '-')}.png"
                assert not (folder / "figures" / name).exists()  # of other runs
                continue
            in_part = figure.sweep is not None and figure.sweep.in_part
            if in_part and (drawn := _drawn(figure, experiment, tmp_path)):
                published = (folder / "figures" / drawn.name).read_bytes()
                assert published == drawn.read_bytes(), figure.id
            if not in_part or drawn:
                for suffix in ("png", "svg", "csv"):
                    path = folder / "figures" / f"{figure.id.replace('/', '-')}.{suffix}"
                    assert path.stat().st_size > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_stored_runs_give_the_published_verdicts_and_figures(name: str, tmp_path: Path) -> None:
    experiment = EXPERIMENTS[name]
    rows = json.loads((_published(experiment) / "claims.json").read_text("utf-8"))
    published = {
        (row["id"], row["reading"]): (row["verdict"], row["text"], row["seeds"])
        for row in rows
        if row["id"].startswith(f"{name}/")
    }
    found = {
        (d.claim.id, str(d.reading)): (d.verdict, d.text, d.seeds)
        for d in decide_all(experiment.claims, _runs(experiment), Plan())
    }
    assert found == published
    for figure in (f for f in experiment.figures if not f.panel):
        if drawn := _drawn(figure, experiment, tmp_path):
            kept = _published(experiment) / "figures" / drawn.name
            assert kept.exists(), figure.id
            tables = [pl.read_csv(path, infer_schema_length=None) for path in (drawn, kept)]
            assert_frame_equal(*tables)


def _published(experiment: Experiment) -> Path:
    """Where the claims and figures of an experiment are."""
    return RESULTS / "control" if experiment.name == "control" else RESULTS


def _runs(experiment: Experiment) -> Store:
    """The runs that an experiment's claims and figures rest on."""
    own = experiment.name in ("control", "stacks")
    return Store(RESULTS / (experiment.name if own else "runs"))


def _drawn(figure: Figure, experiment: Experiment, scratch: Path) -> Path | None:
    """The numbers of a figure of the runs that are kept; None if these are not enough."""
    store = _runs(experiment)
    plan = plan_for(figure.sweep, store, Plan(), None)
    try:
        return draw(figure, store, plan, scratch, Plan()).files["csv"]
    except LabError:
        return None


def test_stored_runs_stay_small_enough_to_clone() -> None:
    folders = [f"docs/results/{name}/cells" for name in ("runs", "control", "stacks")]
    command = ["git", "ls-files", "-z", "--", *folders]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a clone")
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert len(files) > 1000
    assert sum(path.stat().st_size for path in files if path.exists()) < 20e6


def _has_runs(figure: Figure) -> bool:
    """Whether runs of a figure are kept, if it needs any."""
    if figure.sweep is None:
        return True
    store = Store(RESULTS / "runs")
    return bool(usable(figure.sweep, plan_for(figure.sweep, store, Plan(), None), store))


def test_the_age_that_stands_for_the_paper_is_nearest_to_the_measured_staleness() -> None:
    summary = json.loads((RESULTS / "actor-learner" / "summary.json").read_text("utf-8"))
    measured = summary["staleness"]["mean"]
    for text in (
        sweep.MEASURED_STALENESS,
        *((ROOT / "docs" / page).read_text("utf-8") for page in ("tokens.md", "actor-learner.md")),
    ):
        assert f"{measured:.2f} updates old" in " ".join(text.split())
    nearest = min(sweep.DELAYS, key=lambda delay: abs(delay / 2 - measured))
    assert sweep.WITH_STALE.delay == nearest


def test_docs_name_every_method_and_only_real_options() -> None:
    text = (ROOT / "docs" / "estimator.md").read_text("utf-8")
    rows = re.findall(
        r"^\| `(\w+)` \|.*\|([^|]*)\|$", text.partition("## Methods")[2], re.MULTILINE
    )
    named = {
        name: re.findall(r"[a-z_]+", re.sub(r"\(.*?\)", "", options)) for name, options in rows
    }
    assert named == {name: list(method.defaults) for name, method in METHODS.items()}


@pytest.mark.parametrize(
    "command", sorted(set(re.findall(r"^    delightful (\w+)", README, re.MULTILINE)))
)
def test_readme_names_real_commands(command: str) -> None:
    from delightful.cli.main import _parser

    with pytest.raises(SystemExit) as stopped:
        _parser().parse_args([command, "--help"])
    assert stopped.value.code == 0


def test_the_readmes_program_is_the_example_that_the_tests_run() -> None:
    program = README.partition("```python\n")[2].partition("```")[0]
    example = (ROOT / "examples" / "torch_bandit.py").read_text("utf-8")
    docstring, _, body = example.partition('"""\n\n')
    assert program.strip() == body.strip()
    printed = docstring.partition("prints:\n")[2].splitlines()
    assert len(printed) == 2
    assert all(line in README.splitlines() for line in printed)


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


@pytest.mark.slow
def test_tokens_example(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "tokens.md").read_text("utf-8")
    exec(text.partition("```python\n")[2].partition("```")[0], {})  # our own docs
    assert capsys.readouterr().out.startswith("[ 5 10 15 20]")


# docs/plugins.md

PLUGINS = (ROOT / "docs" / "plugins.md").read_text("utf-8")


def _block(text: str, start: str) -> str:
    """The code block that begins after `start`."""
    return text.partition(start)[2].partition("```python\n")[2].partition("```")[0]


def test_docs_recipe_of_a_loop_is_the_policy_loss() -> None:
    torch = pytest.importorskip("torch")
    advantage, mask = torch.randn(4, 6), torch.rand(4, 6) < 0.8
    log_prob = torch.log(torch.rand(4, 6)).requires_grad_()
    names = {"advantage": advantage, "mask": mask, "log_prob": log_prob}
    names["centred"] = advantage - advantage.mean()
    exec(_block(PLUGINS, "A loop of your own"), names)
    centred = {"mask": mask, "gate_advantage": names["centred"]}
    expected = dg.policy_loss(log_prob, advantage, unit_gain=True, **centred)
    torch.testing.assert_close(names["loss"], expected)
    assert names["numbers"].entries == int(mask.sum())


@pytest.mark.parametrize("norm_adv", [False, True])
def test_docs_recipe_for_cleanrl_gates_on_centred_advantages(norm_adv: bool) -> None:
    torch = pytest.importorskip("torch")
    b_advantages, newlogprob = 30 * torch.randn(50), -3 * torch.rand(20)
    names = {"dg": dg, "b_advantages": b_advantages, "mb_inds": torch.arange(20)}
    names |= {"newlogprob": newlogprob, "args": SimpleNamespace(norm_adv=norm_adv)}
    exec(_block(PLUGINS, "CleanRL"), names)
    U = b_advantages[:20]
    chi = -(U - U.mean()) * newlogprob
    w = torch.sigmoid(chi / chi.std(correction=0))
    if norm_adv:
        U = (U - U.mean()) / U.std()
    torch.testing.assert_close(names["mb_advantages"], 2 * w * U, rtol=1e-5, atol=1e-5)


def test_docs_name_every_option_and_every_logged_number() -> None:
    options = re.findall(r"^\| `(\w+)` \|", PLUGINS.partition("## Options")[2], re.MULTILINE)
    assert options[: len(fields(DelightConfig))] == [f.name for f in fields(DelightConfig)]
    numbers = PLUGINS.partition("## What the numbers mean")[2].partition("**A dead gate**")[0]
    assert all(f"`{name}`" in numbers for name in LOGGED)
