"""Docstrings are read as plain text with `code` and Google's sections, not as reStructuredText.

So |U| and 2 * x stand as they are written; an indented paragraph in a module's docstring is code;
and a paragraph with hanging indents is a list.
"""

import re
from itertools import groupby
from typing import Any

from sphinx.application import Sphinx

_BEFORE_NAPOLEON = 100
_CODE = re.compile(r"(``.*?``|`[^`]*`)")
_SECTION = re.compile(r"[A-Z][A-Za-z ]*:$")


def _escaped(line: str) -> str:
    """`line` with the markup characters outside of code taken literally."""
    parts = _CODE.split(line)
    parts[::2] = [re.sub(r"([*|\\]|_\b)", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _paragraph(lines: list[str], what: str) -> list[str]:
    """The paragraph as reStructuredText."""
    indented = [line.startswith(" ") for line in lines]
    if all(indented) and what == "module":
        return [".. code-block:: text", "", *lines]
    lines = [_escaped(line) for line in lines]
    if indented[0] or not any(indented) or _SECTION.match(lines[0]):
        return lines
    return [f"  {line.strip()}" if line.startswith(" ") else f"- {line}" for line in lines]


def _process(
    app: Sphinx,  # noqa: ARG001
    what: str,
    name: str,  # noqa: ARG001
    obj: Any,  # noqa: ARG001
    options: Any,  # noqa: ARG001
    lines: list[str],
) -> None:
    found: list[str] = []
    for is_text, part in groupby(lines, key=lambda line: bool(line.strip())):
        paragraph = list(part)
        found += _paragraph(paragraph, what) if is_text else paragraph
    lines[:] = found


def _skip(
    app: Sphinx,  # noqa: ARG001
    what: str,  # noqa: ARG001
    name: str,  # noqa: ARG001
    obj: Any,
    skip: bool,
    options: Any,  # noqa: ARG001
) -> bool:
    """Also what Python itself says of a named tuple's fields: they are in the signature."""
    return skip or (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", _process, priority=_BEFORE_NAPOLEON)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
