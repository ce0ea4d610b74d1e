"""Functions fit on a screen, and files stay short."""

import ast
from pathlib import Path

import delightful

SOURCE = Path(delightful.__file__).parent
LONGEST_FUNCTION, LONGEST_FILE = 50, 400  # lines


def too_long(code: str) -> list[str]:
    """The functions past a screen, and the file itself if it is too long."""
    found = [
        f"{node.name}: {lines} lines"
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION
    ]
    lines = len(code.splitlines())
    return found + ([f"the file: {lines} lines"] if lines > LONGEST_FILE else [])


def test_functions_fit_on_a_screen_and_files_are_short() -> None:
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 100
    found = {str(f.relative_to(SOURCE)): too_long(f.read_text(encoding="utf-8")) for f in files}
    assert {name: problems for name, problems in found.items() if problems} == {}


def test_what_is_too_long_is_found() -> None:
    line = "    pass\n"
    assert too_long("def fits():\n" + 49 * line) == []
    assert too_long("def long():\n" + 50 * line) == ["long: 51 lines"]
    assert too_long(401 * "x = 1\n") == ["the file: 401 lines"]
