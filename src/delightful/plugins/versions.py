"""Which versions of each framework the plug-ins were tested with."""

import warnings
from importlib.metadata import version

TESTED = {
    "trl": ("1.16.0", "1.16.1"),
    "verl": ("0.9.1", "0.9.2"),
    "stable-baselines3": ("2.9.2", "2.9.3"),
    "ray": ("2.60.0", "2.60.1"),
    "torchrl": ("0.14.1", "0.14.2"),
}
"""From the first, below the second. Tight, since patch releases move hooks too: torchrl's 0.14.1
changed which action its REINFORCE is about."""


def guard(framework: str) -> None:
    """Warn where the installed version is outside the tested range: hooks may have moved."""
    first, below = TESTED[framework]
    found = version(framework)
    if not _key(first) <= _key(found) < _key(below):
        warnings.warn(
            f"delightful's plug-in was tested with {framework} from {first} to below {below}, and "
            f"{found} is installed: its gradients may be wrong; "
            f"install '{framework}>={first},<{below}'",
            RuntimeWarning,
            stacklevel=3,
        )


def _key(text: str) -> tuple[int, ...]:
    """1.16.0rc1 as (1, 16, 0): a pre-release counts as its release."""
    parts = []
    for part in text.split("+", maxsplit=1)[0].split("."):
        digits = ""
        for character in part:
            if not character.isdigit():
                break
            digits += character
        if not digits:
            break
        parts.append(int(digits))
    return tuple(parts)
