"""What is packed comes back, and other bytes do not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from delightful.agents.control.serialization import fill, flatten, nest, pack, unpack

ARRAYS = st.dictionaries(
    st.text(min_size=1, max_size=5),
    st.sampled_from(["float32", "int32", "bool"]).flatmap(
        lambda kind: arrays_of.arrays(kind, arrays_of.array_shapes(min_dims=0, min_side=0))
    ),
    max_size=3,
)


@given(ARRAYS, st.dictionaries(st.text(), st.integers() | st.text()))
def test_round_trip(arrays, facts):
    found_facts, found = unpack(pack(facts, arrays))
    assert found_facts == facts
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("cut", [slice(0, 0), slice(5, None), slice(None, -1), slice(None, 40)])
def test_bytes_that_were_not_packed_are_refused(cut):
    data = pack({"a": 1}, {"x": np.arange(12, dtype=np.float32)})
    with pytest.raises(ValueError, match=r".+"):
        unpack(data[cut])
    with pytest.raises(ValueError, match="too many"):
        unpack(data + b"x")


def test_objects_are_neither_packed_nor_unpacked():
    with pytest.raises(AssertionError, match="only"):
        pack({}, {"x": np.array([object()])})
    data = pack({}, {"x": np.zeros(2, np.float32)}).replace(b"float32", b"object0")
    with pytest.raises(ValueError, match="unknown kind"):
        unpack(data)


def test_trees_come_back_from_their_paths():
    tree = {"a": {"b": np.ones(2, np.float32)}, "c": np.zeros((), np.int32)}
    flat = flatten(tree)
    assert list(flat) == ["a/b", "c"]
    assert nest(flat)["a"]["b"] is flat["a/b"]
    assert fill(tree, flat)["c"] == 0
    with pytest.raises(ValueError, match="a/b"):
        fill({"a": {"b": np.ones(3, np.float32)}}, flat)
