"""Every function that docs/reference shows says what it takes and what it returns."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DIRECTIVE = re.compile(r"^\.\. auto(module|class|function):: ([\w.]+)\n((?:   :.*\n)*)", re.M)
PAGES = [page.read_text(encoding="utf-8") for page in (ROOT / "docs/reference").glob("*.md")]
Function = ast.FunctionDef


def tree(module: str) -> ast.Module:
    path = ROOT / "src" / module.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def shown() -> Iterator[tuple[str, str]]:
    """Module and name of what the reference's directives document."""
    for kind, target, options in (found for page in PAGES for found in DIRECTIVE.findall(page)):
        if kind != "module":
            module, _, name = target.rpartition(".")
            yield module, name
            continue
        excluded = re.findall(r"\w+", options.partition(":exclude-members:")[2])
        for node in ast.walk(tree(target)):
            if isinstance(node, ast.ImportFrom) and ":imported-members:" in options:
                yield from ((node.module or "", alias.name) for alias in node.names)
        for top in tree(target).body:
            if isinstance(top, Function | ast.ClassDef) and top.name not in excluded:
                yield target, top.name


def functions() -> Iterator[tuple[str, Function]]:
    """Public functions and methods with a parameter besides self."""
    for module, name in sorted(set(shown())):
        if not module.startswith("delightful"):
            continue
        found = [node for node in tree(module).body if getattr(node, "name", "") == name]
        classes = [node for node in found if isinstance(node, ast.ClassDef)]
        for node in [*found, *(member for one in classes for member in one.body)]:
            if not isinstance(node, Function) or not parameters(node):
                continue
            # A method that a plug-in overrides is in the documentation of its framework.
            overrides = module.startswith("delightful.plugins.") and not ast.get_docstring(node)
            if not (node.name.startswith("_") or name.startswith("_") or (classes and overrides)):
                yield ".".join([module, *(one.name for one in classes), node.name]), node


def parameters(node: Function) -> list[str]:
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    names = [argument.arg for argument in given if argument.arg != "self"]
    return names + ([f"**{node.args.kwarg.arg}"] if node.args.kwarg else [])


FUNCTIONS = dict(functions())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_the_reference_has_args_and_returns(name: str) -> None:
    node = FUNCTIONS[name]
    text = ast.get_docstring(node) or ""
    arguments = text.partition("Args:\n")[2].partition("\n\n")[0]
    wanted = parameters(node)
    if any(ast.unparse(line).startswith("method(") for line in node.decorator_list):
        wanted.remove("batch")  # every registered method takes it, and only it is not an option
    assert re.findall(r"^    (\**\w+): ", arguments, re.M) == wanted
    if node.returns is None or ast.unparse(node.returns) != "None":
        assert "\nReturns:\n    " in text


@pytest.mark.parametrize(
    "name",
    [
        "delightful.gate.gate",
        "delightful.weights.dg",
        "delightful.validation.Batch.sum",
        "delightful.theory.context_gap",
        "delightful.lab.statistics.fieller",
        "delightful.plugins.rllib.DelightPPOConfig.delight",
        "delightful.agents.control.policy.Policy.act",
        "delightful.agents.control.losses.retrace",
    ],
)
def test_the_directives_are_followed(name: str) -> None:
    assert name in FUNCTIONS
