"""The code in README, CONTRIBUTING and docs runs; the commands in them are real.

Python blocks of a page run in order, in one namespace and an empty folder. A text block right after
one is what it prints. A block whose paragraph says "not run" is compiled only. One that needs a
framework is skipped where it is not installed.
"""

import ast
import io
import re
import runpy
import shlex
from argparse import Namespace
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from delightful.cli.commands import COMMANDS
from delightful.cli.options import known, plan_of
from delightful.lab.cells import Sweep
from delightful.paper import EXPERIMENTS
from delightful.registry import METHODS
from delightful.weights import canonical_method

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(p for p in (ROOT / "docs").rglob("*.md") if not {"results", "_build"} & set(p.parts)),
]
SLOW = ("docs/tokens.md",)  # it compiles a Transformer

# What a block of docs takes from the reader's own program, by page and by a word of the block.
STAND_INS = {
    ("docs/control.md", "load_policy"): """
from pathlib import Path

import numpy as np

from delightful.agents.control import Policy
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.policy import policy_bytes, shapes
from delightful.agents.serialization import unflatten

config = ControlConfig(task="cheetah:run", width=8)
layers = {name: np.zeros(shape, np.float32) for name, shape in shapes(8, 17, 6).items()}
Path("runs/cheetah-run-dg-seed0").mkdir(parents=True)
saved = policy_bytes(Policy(config, unflatten(layers)))
Path("runs/cheetah-run-dg-seed0/policy.safetensors").write_bytes(saved)
""",
    ("README.md", "was: -(advantage * log_prob).mean()"): """
import torch

log_prob = torch.log(torch.rand(4, 6)).requires_grad_()
advantage, mask = torch.randn(4, 6), torch.rand(4, 6) < 0.8
""",
    ("docs/plugins.md", "DelightGRPOTrainer"): """
from datasets import Dataset
from trl import GRPOConfig

from delightful.paper.stacks import reversal

model, reward = reversal.network(0), reversal.reward
dataset = Dataset.from_list(reversal.prompts(8, 0))
args = GRPOConfig(output_dir=".", use_cpu=True, bf16=False, report_to="none")
model.name_or_path, model.config._name_or_path = "tokenizer", "tokenizer"
reversal.tokenizer().save_pretrained("tokenizer")
""",
    ("docs/plugins.md", "DelightA2CLoss"): """
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.modules import OneHotCategorical, ProbabilisticActor, ValueOperator

logits = TensorDictModule(nn.Linear(4, 2), in_keys=["observation"], out_keys=["logits"])
actor = ProbabilisticActor(logits, in_keys=["logits"], distribution_class=OneHotCategorical)
critic = ValueOperator(nn.Linear(4, 1), in_keys=["observation"])
""",
    ("docs/plugins.md", "unit_gain=True)   # carries no gradient"): """
import torch

advantage, mask = torch.randn(4, 6), torch.rand(4, 6) < 0.8
centred, log_prob = advantage - advantage.mean(), torch.log(torch.rand(4, 6)).requires_grad_()
""",
    ("docs/plugins.md", "mb_advantages"): """
from types import SimpleNamespace

import torch

b_advantages, newlogprob, mb_inds = torch.randn(50), -torch.rand(20), torch.arange(20)
args = SimpleNamespace(norm_adv=True)
""",
}


class Block(NamedTuple):
    page: str
    number: int
    source: str
    runs: bool
    prints: str  # as the page says it; empty if it does not


def blocks() -> Iterator[Block]:
    for page in PAGES:
        parts = re.split(r"^```python\n(.*?)^```\n", page.read_text("utf-8"), flags=re.M | re.S)
        for number, (before, source) in enumerate(zip(parts[::2], parts[1::2], strict=False)):
            introduction = before.rstrip().rpartition("\n\n")[2]
            shown = re.match(r"\n```text\n(.*?)^```\n", parts[2 * number + 2], re.M | re.S)
            prints = shown[1] if shown else ""
            yield Block(_name(page), number, source, "not run" not in introduction, prints)


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


BLOCKS = list(blocks())
_PAGES: dict[str, tuple[dict[str, Any], int]] = {}  # namespaces, and how many blocks have run


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    """Methods that a page registers are of that page."""
    before = dict(METHODS)
    yield
    METHODS.clear()
    METHODS.update(before)


def missing(source: str) -> set[str]:
    """The packages that a block imports, plug-ins' frameworks included, and that are not there."""
    nodes = list(ast.walk(ast.parse(source)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    frameworks = {"sb3": "stable_baselines3", "rllib": "ray.rllib"}
    for name in [name for name in names if name.startswith("delightful.plugins.")]:
        plugin = name.rpartition(".")[2]
        names.add(frameworks.get(plugin, plugin))
    if any(name.startswith("ray.rllib") for name in names):
        names.add("pyarrow")  # of ray[rllib]: ray is there without it too
    return {name for name in (n.partition(".")[0] for n in names) if find_spec(name) is None}


def _id(block: Block) -> str:
    return f"{block.page}-{block.number}"


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=_id(block), marks=[pytest.mark.slow] if block.page in SLOW else [])
        for block in BLOCKS
    ],
)
def test_python_block(block: Block, tmp_path_factory: pytest.TempPathFactory) -> None:
    compile(block.source, _id(block), "exec")
    if not block.runs:
        return
    if absent := missing(block.source):
        pytest.skip(f"{', '.join(sorted(absent))} is not installed")
    names, done = _PAGES.get(block.page, ({"__name__": "page"}, 0))
    for earlier in BLOCKS:
        if earlier.page == block.page and done <= earlier.number <= block.number:
            run(earlier, names, tmp_path_factory.mktemp("page"))
    _PAGES[block.page] = names, max(done, block.number + 1)


def run(block: Block, names: dict[str, Any], folder: Path) -> None:
    """Execute a block after what stands in for the reader's program, where it can be."""
    if not block.runs or missing(block.source):
        return
    with chdir(folder):
        for (page, word), stand_in in STAND_INS.items():
            if page == block.page and word in block.source:
                exec(stand_in, names)
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(block.source, _id(block), "exec"), names)  # our own pages
    assert block.prints in ("", printed.getvalue())


def test_stand_ins_are_for_blocks_that_are_there() -> None:
    for page, word in STAND_INS:
        assert any(block.page == page and word in block.source for block in BLOCKS), word


# Commands


def commands() -> Iterator[tuple[str, str]]:
    """(command line, page) of every `delightful ...` in indented, shell or inline code."""
    for page in PAGES:
        text = page.read_text("utf-8")
        shell = "".join(re.findall(r"^```(?:sh|bash|console)\n(.*?)^```", text, re.M | re.S))
        code = re.findall(r"^(?: {4})(.*)$", text, re.M) + shell.splitlines()
        code += [" ".join(span.split()) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", text)]
        for line in code:
            for part in re.split(r" && | # | \| | > ", line):
                command = re.sub(r"^(?:\w+=\S+ +)*(?:\S*/bin/)?", "", part.strip())
                # A word in capitals or dots stands for the reader's own.
                if re.match(r"delightful [a-z-]", command) and not re.search(
                    r"\b[A-Z]{4,}\b(?!\.|=)|\.\.\.", command
                ):
                    yield command, _name(page)


COMMAND_LINES = sorted(set(commands()))


@pytest.mark.parametrize("command", COMMAND_LINES, ids=" in ".join)
def test_command(command: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    from delightful.cli.main import _parser

    _, *words = shlex.split(command[0])
    if len(words) == 1:  # such as "what `delightful train` writes"
        assert words[0] in (*COMMANDS, "--version")
        return
    monkeypatch.chdir(ROOT)  # where a path such as examples/own_method.py leads somewhere
    options = _parser().parse_args(words)
    for file in getattr(options, "imports", ()):
        runpy.run_path(file)
    if options.command == "train":
        from delightful.cli import training

        training.trainer(options).configured(options)
    elif hasattr(options, "names") or hasattr(options, "sweep"):
        check_names(options)


def check_names(options: Namespace) -> None:
    """The names are real, and so are the methods and fields, for at least one of the sweeps."""
    names = [options.sweep] if hasattr(options, "sweep") else options.names
    kinds = COMMANDS[options.command].kinds
    items = {key: item for kind in kinds for key, item in known(kind).items()}
    for name in names:
        assert name in EXPERIMENTS or name in items, name
    if not hasattr(options, "method"):
        return
    plan = plan_of(options)
    for spec in plan.methods:
        canonical_method(spec)
    chosen = [item for key, item in items.items() if not names or key.startswith(tuple(names))]
    sweeps = [item if isinstance(item, Sweep) else item.sweep for item in chosen]
    for sweep in filter(None, sweeps):
        assert sweep.cells(plan)


def test_the_pages_have_commands() -> None:
    assert len(COMMAND_LINES) > 40
