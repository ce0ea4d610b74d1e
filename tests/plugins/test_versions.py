import re
import tomllib
import warnings
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

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
        assert "tested with trl<1.16.1,>=1.16.0" in said
        assert found in said


def test_the_tested_range_is_that_of_the_extra():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    extras = {line for e in project["project"]["optional-dependencies"].values() for line in e}
    for name in ("trl", "verl", "stable-baselines3", "ray", "torchrl"):
        found = versions.tested(name)
        pinned = [line.partition(">=")[2] for line in extras if re.match(rf"{name}\W.*<", line)]
        assert [SpecifierSet(f">={range_}") for range_ in pinned] == [found]
