"""TensorBoard's file, read back."""

import struct
from contextlib import closing

import pytest

pytest.importorskip("tensorboardX", reason="needs the control extra")

from tensorboardX.proto.event_pb2 import Event

from delightful.agents.control.tensorboard import Board
from delightful.lab.errors import LabError


def shown(folder):
    """(step, tag, value) of every scalar in the folder's files."""
    found = []
    for path in sorted(folder.glob("events.*")):
        data = path.read_bytes()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            event = Event.FromString(data[12 : 12 + length])
            found += [(event.step, v.tag, v.simple_value) for v in event.summary.value]
            data = data[16 + length :]
    return found


def test_every_record_is_there_once_whoever_was_killed_before(tmp_path):
    records = [{"step": 10.0, "loss": 1.0, "return": 2.0}, {"step": 20.0, "loss": 0.5}]
    expected = [(10, "loss", 1.0), (10, "return", 2.0), (20, "loss", 0.5)]
    other = tmp_path / "events.out.tfevents.1.another"
    other.touch()
    with closing(Board(tmp_path)) as board:
        board.add(records[:1])
        board.add(records[1:])
        assert shown(tmp_path) == expected  # though the file is still open
    with closing(Board(tmp_path)) as board:
        board.add(records)
    assert shown(tmp_path) == expected
    assert other.exists()


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LabError, match="cannot write to"):
        Board(tmp_path / "file" / "board").add([])
