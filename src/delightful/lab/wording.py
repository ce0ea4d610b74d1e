"""How numbers and expectations are put into words, wherever a person reads them."""

import re

from delightful.lab.experiment import Claim

_SIGNS = {"above": ">", "below": "<", "at least": "≥", "at most": "≤", "exactly": ""}


def minus(text: str) -> str:
    """Text with a minus sign in place of a hyphen before a number; `commands` stay as they are."""
    parts = text.split("`")
    parts[::2] = [
        re.sub(r"(?<![\w=/-])-(?=[\d.∞])|(?<=\de)-(?=\d)", "−", part) for part in parts[::2]
    ]
    return "`".join(parts)


def plural(count: int, noun: str) -> str:
    """Such as "1 cell" or "2 cells"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def expected(claim: Claim) -> str:
    """The value that the paper gives or implies; empty where the rule says the same."""
    sides = {criterion.side for criterion in claim.rule.criteria}
    for words, sign in _SIGNS.items():
        said = {f"{sign} {side.removeprefix(words).strip()}".strip() for side in sides}
        if said == {claim.paper} and all(side.startswith(words) for side in sides):
            return ""
    return minus(claim.paper)
