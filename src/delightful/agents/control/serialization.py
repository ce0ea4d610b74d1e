"""Named arrays and facts as bytes: what goes through pipes and into checkpoints. No pickle."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

_KINDS = ("float32", "int32", "bool")


def pack(facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The facts and the arrays' shapes as one line of JSON, then the arrays' bytes."""
    named = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    shapes = [[name, str(array.dtype), array.shape] for name, array in named.items()]
    if any(kind not in _KINDS for _, kind, _ in shapes):
        raise AssertionError(f"only {', '.join(_KINDS)} are packed, not {shapes}")
    head = json.dumps({"facts": facts, "arrays": shapes}, allow_nan=False).encode()
    return b"\n".join([head, b"".join(array.tobytes() for array in named.values())])


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What was packed; raises ValueError for bytes that `pack` did not make."""
    line, _, rest = data.partition(b"\n")
    head = json.loads(line)
    arrays, start = {}, 0
    for name, kind, shape in head["arrays"]:
        if kind not in _KINDS:
            raise ValueError(f"{name} is of an unknown kind, {kind}")
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(rest, kind, count, start).reshape(shape)
        start += arrays[name].nbytes
    if start != len(rest):
        raise ValueError(f"{len(rest) - start} bytes too many")
    return head["facts"], arrays


def flatten(tree: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """A tree of dicts and named tuples as arrays by path, "critic/second/bias"."""
    parts = tree if isinstance(tree, dict) else getattr(tree, "_asdict", dict)()
    if not parts:
        return {prefix: np.asarray(tree)}
    found: dict[str, np.ndarray] = {}
    for name, part in parts.items():
        found |= flatten(part, f"{prefix}/{name}" if prefix else name)
    return found


def fill(tree: Any, arrays: Mapping[str, np.ndarray], prefix: str = "") -> Any:
    """A tree of the same shape with the arrays that `flatten` made."""
    if isinstance(tree, dict):
        return {k: fill(v, arrays, f"{prefix}/{k}" if prefix else k) for k, v in tree.items()}
    if hasattr(tree, "_asdict"):
        return type(tree)(**fill(tree._asdict(), arrays, prefix))
    array = arrays[prefix]
    if array.shape != tree.shape or array.dtype != tree.dtype:
        raise ValueError(f"{prefix} is {array.dtype}{array.shape}, not {tree.dtype}{tree.shape}")
    return array


def nest(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Dicts in dicts by path, as `flatten` found them."""
    tree: dict[str, Any] = {}
    for path, array in arrays.items():
        *folders, name = path.split("/")
        at = tree
        for folder in folders:
            at = at.setdefault(folder, {})
        at[name] = array
    return tree
