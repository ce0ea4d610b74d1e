"""Checkpoints come back bit for bit, and damaged or foreign ones are refused and left alone."""

import numpy as np
import pytest

from delightful.agents.actor_learner.checkpoints import Checkpoint, CheckpointError

RUN = {"actors": 3, "seed": 0, "config": {"method": "dg"}}
ARRAYS = {
    "learner/w": np.array([0.1, -0.0, 1e-45, np.pi], np.float32),
    "held/3/w": np.arange(6, dtype=np.int32).reshape(2, 3),
}
FACTS = {"step": 5, "calls": [3, 4, 5], "staleness": [[[0, 3]], []]}


def test_what_is_written_comes_back_bit_for_bit(tmp_path):
    assert Checkpoint(tmp_path, RUN).read() is None
    Checkpoint(tmp_path, RUN).write(4, {}, {})
    Checkpoint(tmp_path, RUN).write(5, ARRAYS, FACTS)
    found = Checkpoint(tmp_path, RUN).read()
    assert found is not None
    arrays, facts = found
    assert facts == FACTS
    assert {n: (a.dtype, a.shape, a.tobytes()) for n, a in arrays.items()} == {
        n: (a.dtype, a.shape, a.tobytes()) for n, a in ARRAYS.items()
    }
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"checkpoint.json", "state-0000005.safetensors"}


@pytest.mark.parametrize("name", ["checkpoint.json", "state-0000005.safetensors"])
def test_a_damaged_file_is_named_and_not_read(tmp_path, name):
    Checkpoint(tmp_path, RUN).write(5, ARRAYS, FACTS)
    path = tmp_path / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=f"{name} is damaged"):
        Checkpoint(tmp_path, RUN).read()
    assert path.read_bytes() == data


def test_another_run_is_refused(tmp_path):
    Checkpoint(tmp_path, RUN).write(5, ARRAYS, FACTS)
    with pytest.raises(CheckpointError, match=r"another run, with actors 3, not"):
        Checkpoint(tmp_path, {**RUN, "actors": 4})
