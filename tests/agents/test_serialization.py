"""Arrays and metadata come back from safetensors, and other bytes are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from safetensors.numpy import save

from delightful.agents.serialization import (
    flatten,
    from_bytes,
    to_bytes,
    unflatten,
    unflatten_like,
)

ARRAYS = st.dictionaries(
    st.text(min_size=1, max_size=5),
    st.sampled_from(["float32", "int32", "bool"]).flatmap(
        lambda kind: arrays_of.arrays(kind, arrays_of.array_shapes(min_dims=0, min_side=0))
    ),
    max_size=3,
)


@given(ARRAYS, st.dictionaries(st.text(), st.integers() | st.text()))
def test_round_trip(arrays, metadata):
    data = to_bytes(arrays, metadata)
    found, found_metadata = from_bytes(data)
    assert found_metadata == metadata
    assert list(found) == sorted(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
    assert to_bytes(found, found_metadata) == data


def test_an_array_in_another_order_comes_back_the_same():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    found, _ = from_bytes(to_bytes({"x": array.T, "y": array[:, ::2]}, {}))
    np.testing.assert_array_equal(found["x"], array.T)
    np.testing.assert_array_equal(found["y"], array[:, ::2])


@pytest.mark.parametrize("cut", [slice(0, 0), slice(5, None), slice(None, -1), slice(None, 40)])
def test_other_bytes_are_refused(cut):
    data = to_bytes({"x": np.arange(12, dtype=np.float32)}, {"a": 1})
    for wrong in (data[cut], data + b"x"):
        with pytest.raises(ValueError, match="not a file of delightful's"):
            from_bytes(wrong)


def test_metadata_that_is_missing_or_no_object_is_refused():
    x = {"x": np.zeros(2, np.float32)}
    for metadata in (None, {"format": "pt"}, {"delightful": "{"}, {"delightful": "[" * 100_000}):
        with pytest.raises(ValueError, match="not a file of delightful's"):
            from_bytes(save(x, metadata))
    with pytest.raises(ValueError, match="must be an object, got list"):
        from_bytes(save(x, {"delightful": "[]"}))


def test_objects_and_nan_are_not_written():
    with pytest.raises(Exception, match="object"):
        to_bytes({"x": np.array([object()])}, {})
    with pytest.raises(ValueError, match="JSON"):
        to_bytes({}, {"x": float("nan")})


def test_trees_come_back_from_their_paths():
    tree = {"a": {"b": np.ones(2, np.float32)}, "c": np.zeros((), np.int32)}
    flat = flatten(tree)
    assert list(flat) == ["a/b", "c"]
    assert unflatten(flat)["a"]["b"] is flat["a/b"]
    assert unflatten_like(tree, flat)["c"] == 0
    with pytest.raises(ValueError, match="a/b"):
        unflatten_like({"a": {"b": np.ones(3, np.float32)}}, flat)
