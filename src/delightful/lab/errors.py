"""The one error that a user is meant to read: a sentence, exit code 2, no traceback."""

import difflib
from collections.abc import Iterable


class LabError(Exception):
    """Something the user can mend; the message says what was wrong and what would be right."""


class BrokenRunError(LabError):
    """A run that came to nothing for reasons of its own: others can go on."""


def unknown(kind: str, name: str, known: Iterable[str]) -> LabError:
    """`name` is no `kind`; the nearest known ones are shown, or all of them if none is near."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}."
    return LabError(f"unknown {kind} {name!r}: {hint}")
