"""Which versions of each framework the plug-ins were tested with: those of our own extras.

The ranges are tight, since patch releases move hooks too: torchrl's 0.14.1 changed which action its
REINFORCE is about.
"""

import warnings
from importlib.metadata import requires, version

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version


def tested(framework: str) -> SpecifierSet:
    """The range that our extra of the framework installs: the narrowest, where several name it."""
    ours = map(Requirement, requires("delightful-rl") or ())
    return max((r.specifier for r in ours if r.name == framework), key=len)


def guard(framework: str) -> None:
    """Warn where the installed version is outside the tested range: hooks may have moved."""
    found, expected = version(framework), tested(framework)
    if not expected.contains(Version(found).base_version):
        warnings.warn(
            f"delightful's plug-in was tested with {framework}{expected} and {found} is "
            f"installed: its gradients may be wrong; install '{framework}{expected}'",
            RuntimeWarning,
            stacklevel=3,
        )
