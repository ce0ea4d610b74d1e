"""How commands print text and JSON."""

import json
import shutil
import textwrap
from typing import Any


def wrapped(start: str, text: str, indent: int | None = None) -> str:
    """Text in lines as wide as the terminal, but never broken within a word such as an id."""
    return textwrap.fill(
        text,
        width=shutil.get_terminal_size((100, 24)).columns,
        initial_indent=start,
        subsequent_indent=" " * (len(start) if indent is None else indent),
        break_long_words=False,
        break_on_hyphens=False,
    )


def print_json(value: Any) -> None:
    """Strict JSON: NaN is refused."""
    print(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))
