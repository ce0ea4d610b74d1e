"""Arrays and JSON metadata as safetensors bytes: policy files and checkpoints."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

_KEY = "delightful"  # safetensors' own metadata is text by name


def to_bytes(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, Any]) -> bytes:
    """A safetensors file of named arrays, with any JSON object as metadata; no NaN in that."""
    from safetensors.numpy import save

    dense = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    return bytes(save(dense, {_KEY: json.dumps(metadata, allow_nan=False)}))


def from_bytes(data: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `to_bytes` was given, arrays sorted by name; ValueError for anything else."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = dict(sorted(load(data).items()))  # it has no order of its own
        size = int.from_bytes(data[:8], "little")  # of the header, which `load` has validated
        metadata = json.loads(json.loads(data[8 : 8 + size])["__metadata__"][_KEY])
    except (SafetensorError, KeyError, ValueError, RecursionError) as error:
        raise ValueError(f"not a file of delightful's: {error}") from None
    if not isinstance(metadata, dict):
        raise ValueError(f"metadata must be an object, got {type(metadata).__name__}")
    return arrays, metadata


def flatten(tree: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """The arrays of nested dicts and named tuples by path, such as "critic/second/bias"."""
    parts = tree if isinstance(tree, dict) else getattr(tree, "_asdict", dict)()
    if not parts:
        return {prefix: np.asarray(tree)}
    found: dict[str, np.ndarray] = {}
    for name, part in parts.items():
        found |= flatten(part, f"{prefix}/{name}" if prefix else name)
    return found


def unflatten(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Nested dicts from paths: the inverse of `flatten` for dicts."""
    tree: dict[str, Any] = {}
    for path, array in arrays.items():
        *folders, name = path.split("/")
        at = tree
        for folder in folders:
            at = at.setdefault(folder, {})
        at[name] = array
    return tree


def unflatten_like(tree: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """A JAX tree of the same structure, shapes and dtypes, with the arrays at its paths."""
    import jax

    def stored(path: Any, like: Any) -> np.ndarray:
        name = jax.tree_util.keystr(path, simple=True, separator="/")
        array = arrays[name]
        if array.shape != like.shape or array.dtype != like.dtype:
            raise ValueError(f"{name} is {array.dtype}{array.shape}, not {like.dtype}{like.shape}")
        return array

    return jax.tree_util.tree_map_with_path(stored, tree)
