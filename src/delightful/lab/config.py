"""Configs: frozen dataclasses whose every field says where its value comes from."""

import dataclasses
import math
import typing
from collections.abc import Mapping
from typing import Any

from delightful.lab.errors import LabError, unknown
from delightful.weights import canonical_method

Config = Any
"""A frozen dataclass of int, float, str and bool fields, with a `check()` that raises ValueError
for values that make no sense. Floats are traced, the rest is static. It has a field `method` unless
it is that of a third-party baseline."""


def stated(default: Any, where: str) -> Any:
    """A field whose value the paper states; `where` quotes or cites it."""
    return dataclasses.field(default=default, metadata={"stated": where})


def chosen(default: Any, because: str) -> Any:
    """A field that the paper does not state: our choice, with its reason."""
    return dataclasses.field(default=default, metadata={"chosen": because})


def choices(config: type) -> list[tuple[str, Any, str]]:
    """(field, default, reason) of every choice of ours in a config class."""
    return [
        (f.name, f.default, f.metadata["chosen"])
        for f in dataclasses.fields(config)
        if "chosen" in f.metadata
    ]


def canonical(config: Config) -> Config:
    """The same config, checked, its method in one spelling: equal work has one id."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        finite = not isinstance(value, float) or math.isfinite(value)
        require(finite, f"{field.name} must be finite", value)
    config.check()
    if not has_method(config):
        return config
    return dataclasses.replace(config, method=canonical_method(config.method))


def has_method(config: Config) -> bool:
    """Whether it trains with a registered method; a third-party baseline does not."""
    return any(field.name == "method" for field in dataclasses.fields(config))


def change(config: Config, changes: Mapping[str, str], owner: str) -> Config:
    """`config` with fields replaced by values given as text, as on the command line."""
    types = typing.get_type_hints(type(config))
    for name in changes:
        if name not in types:
            raise unknown(f"field of {owner}", name, types)
    values = {name: _value(name, text, types[name]) for name, text in changes.items()}
    return dataclasses.replace(config, **values)


def _value(name: str, text: str, kind: type) -> Any:
    if kind is bool:
        if text not in ("true", "false"):
            raise LabError(f"{name} must be true or false, got {text!r}.")
        return text == "true"
    if kind is int:
        return whole_number(name, text)
    try:
        return kind(text)
    except ValueError:
        raise LabError(f"{name} must be a number, got {text!r}.") from None


def whole_number(name: str, text: str) -> int:
    """Also one that is written as 1e6, which is how steps are spoken of."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise LabError(f"{name} must be a whole number, got {text!r}.")
    return int(number)


def require(holds: bool, rule: str, got: Any) -> None:
    """Refuse a config that breaks a rule, in one sentence."""
    if not holds:
        raise ValueError(f"{rule}, got {got}")
