"""Errors that a user reads: one sentence, exit code 2, no traceback."""

import difflib
from collections.abc import Iterable

MANY = 40  # names, which nobody reads in an error message


class LabError(Exception):
    """Something that the user can fix; the message says what was wrong and what would be right."""


class BrokenRunError(LabError):
    """A run that failed, for a reason that does not affect other runs."""


def install(extra: str) -> str:
    """What to do about packages that are missing."""
    return f"pip install '.[{extra}]' in a clone of delightful"


def unknown(kind: str, name: str, known: Iterable[str]) -> LabError:
    """The error for a name that does not exist, with the nearest known ones, or all if few."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    some = f"known are {', '.join(known)}." if len(known) <= MANY else "see `delightful list`."
    hint = f"did you mean {' or '.join(near)}?" if near else some
    return LabError(f"unknown {kind} {name!r}: {hint}")
