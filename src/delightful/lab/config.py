"""Configs: frozen dataclasses whose every field says where its value comes from."""

import dataclasses
import math
import typing
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, TypeGuard, TypeVar

from delightful.lab.errors import LabError, unknown
from delightful.weights import canonical_method


class Config(Protocol):
    """The settings of one run: a frozen dataclass of int, float, str and bool fields.

    Floats are traced by JAX, all other fields are static. Field names and values are part of the
    id under which results are stored.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def __hash__(self) -> int: ...  # it is frozen

    def check(self) -> None:
        """Raise ValueError for values that make no sense."""


class MethodConfig(Config, Protocol):
    """A config of a run that trains with a registered method."""

    @property
    def method(self) -> str: ...


AnyConfig = TypeVar("AnyConfig", bound=Config)


def stated(default: Any, where: str) -> Any:
    """A field whose value the paper states; `where` quotes or cites it."""
    return dataclasses.field(default=default, metadata={"stated": where})


def chosen(default: Any, because: str, *, before: Any = None) -> Any:
    """A field that the paper does not state: our choice, with its reason.

    Args:
        default: Its value.
        because: The reason.
        before: If runs were stored before the field existed, the value that it had for them; at
            this value it is no part of an id, so that they keep theirs.

    Returns:
        The field of a dataclass.
    """
    return dataclasses.field(default=default, metadata={"chosen": because, "before": before})


def identity(config: Config) -> dict[str, Any]:
    """The fields and values that the id of a run is made of."""
    fields = dataclasses.fields(config)
    values = {f.name: (getattr(config, f.name), f.metadata.get("before")) for f in fields}
    return {n: value for n, (value, before) in values.items() if before is None or value != before}


def choices(config: type[Config]) -> list[tuple[str, Any, str]]:
    """The fields of a config class that we chose, as (name, default, reason)."""
    return [
        (f.name, f.default, f.metadata["chosen"])
        for f in dataclasses.fields(config)
        if "chosen" in f.metadata
    ]


def canonical(config: AnyConfig) -> AnyConfig:
    """Check a config and bring its method into one spelling, so that equal work has one id."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        finite = not isinstance(value, float) or math.isfinite(value)
        require(finite, f"{field.name} must be finite", value)
    config.check()
    spec = config.method if has_method(config) else None
    return config if spec is None else dataclasses.replace(config, method=canonical_method(spec))


def has_method(config: Config) -> TypeGuard[MethodConfig]:
    """Whether it trains with a registered method; a third-party baseline does not."""
    return any(field.name == "method" for field in dataclasses.fields(config))


def change(config: AnyConfig, changes: Mapping[str, str], owner: str) -> AnyConfig:
    """Replace fields by values given as text, which are not yet checked."""
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
    """Parse an integer, which may be written as 1e6."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise LabError(f"{name} must be a whole number, got {text!r}.")
    return int(number)


def require(holds: bool, rule: str, got: Any) -> None:
    """Raise ValueError with the rule and the value that breaks it, unless the rule holds."""
    if not holds:
        raise ValueError(f"{rule}, got {got}")


def at_least(least: int, config: Config, *names: str) -> None:
    """Require that each of these fields is `least` or more."""
    for name in names:
        value = getattr(config, name)
        require(value >= least, f"{name} must be at least {least}", value)
