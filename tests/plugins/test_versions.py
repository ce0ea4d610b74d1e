import re
import tomllib
import warnings
from pathlib import Path

import pytest

from delightful.plugins import versions


@pytest.mark.parametrize(
    ("found", "quiet"),
    [
        ("1.16.0", True),
        ("1.16.0rc1", True),
        ("1.16.0+cpu", True),
        ("1.15.9", False),
        ("1.16.1", False),
        ("1.17.0", False),
        ("2.0", False),
    ],
)
def test_outside_the_tested_range_the_range_is_named(monkeypatch, found, quiet):
    monkeypatch.setattr(versions, "version", lambda _: found)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        versions.guard("trl")
    if quiet:
        assert not caught
    else:
        said = str(caught[0].message)
        assert "trl from 1.16.0 to below 1.16.1" in said
        assert found in said


def test_the_extras_start_at_what_was_tested():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    extras = {line for e in project["project"]["optional-dependencies"].values() for line in e}
    for name, (first, _) in versions.TESTED.items():
        assert any(re.match(rf"{name}(\[rllib\])?>={first},<", line) for line in extras), name
