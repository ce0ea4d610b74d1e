"""The register of methods, and the specs that name them, such as "dg" or "dg:temperature=0.5".

A method is one function of a batch and one `@method` line. It then trains in every experiment,
shows in every figure that compares methods, and is an option of every command. Keyword arguments
are its hyperparameters. A package of your own can register methods too: its module is named by
`delightful --import`, or by an entry point of the group "delightful.methods".
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from typing import Any

ENTRY_POINTS = "delightful.methods"
_WORDS = ("level", "whiten")  # options whose value is a word


@dataclass(frozen=True)
class Method:
    """A registered score weight: its function and the defaults of its hyperparameters."""

    name: str
    label: str  # as figures and tables print it
    weight: Callable[..., Any]
    defaults: Mapping[str, Any]
    batchwise: bool  # whether one sample's weight depends on the others'
    colour: str = ""  # in figures, as "#1f77b4"; "" for one that no other method there has
    on_top: bool = False  # whether figures draw it over the others


METHODS: dict[str, Method] = {}


def method(
    name: str,
    label: str,
    *,
    batchwise: bool = False,
    options: Any = None,
    colour: str = "",
    on_top: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function of a `Batch` as the score weight called `name`.

    Args:
        name: what `policy_loss(method=...)` and `--method` call it.
        label: what figures and tables print.
        batchwise: whether one sample's weight depends on the others'.
        options: a dataclass instance whose fields are the hyperparameters and their defaults; by
            default they are the function's own keyword arguments.
        colour: its colour in figures, as "#1f77b4"; by default one that no other method there has.
        on_top: whether figures draw it over the others.

    Returns:
        A decorator that leaves the function as it is.
    """

    def register(weight: Callable[..., Any]) -> Callable[..., Any]:
        parameters = list(inspect.signature(weight).parameters.values())[1:]
        defaults = asdict(options) if options else {p.name: p.default for p in parameters}
        taken = METHODS.get(name)
        if taken is not None and taken.weight.__module__ != weight.__module__:
            raise ValueError(f"method {name!r} is registered already; choose another name")
        METHODS[name] = Method(name, label, weight, defaults, batchwise, colour, on_top)
        return weight

    return register


def find_method(name: str) -> Method:
    """The registered method of a name; entry points are loaded if it is not a known one.

    Args:
        name: such as "dg".

    Returns:
        Its `Method`.
    """
    if name not in METHODS:
        for point in entry_points(group=ENTRY_POINTS):
            point.load()
    if name not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {name!r}")
    return METHODS[name]


def parse_method(spec: str) -> tuple[Method, dict[str, Any]]:
    """The method and hyperparameters of a spec.

    Args:
        spec: a name, or a name and options such as "dg:temperature=0.5".

    Returns:
        The `Method`, and its hyperparameters by name, defaults included.
    """
    name, _, rest = spec.partition(":")
    found = find_method(name)
    options = dict(found.defaults)
    for item in filter(None, rest.split(",")):
        key, equals, text = item.partition("=")
        if key not in options:
            known = ", ".join(options) or "no options"
            raise ValueError(f"method {name} takes {known}, got {key!r}")
        if not equals or not text:
            raise ValueError(f"method option {item!r} must read {key}=value")
        options[key] = _value(key, text, found.defaults[key])
    return found, options


def _value(key: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        if text not in ("true", "false"):
            raise ValueError(f"method option {key} must be true or false, got {text!r}")
        return text == "true"
    if isinstance(default, str) or key in _WORDS:
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"method option {key} must be a number, got {text!r}") from None


def weighs_batches(spec: str, **options: Any) -> bool:
    """Whether a sample's weight depends on the others': by the method, or by its options.

    Args:
        spec: as in `parse_method`.
        **options: hyperparameters that replace the spec's.

    Returns:
        True if a batch cannot be split without changing ω.
    """
    found, in_spec = parse_method(spec)
    options = in_spec | options
    return found.batchwise or bool(options.get("whiten")) or options.get("level") == "sequence"
