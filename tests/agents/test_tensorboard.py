"""TensorBoard's file, read back."""

import struct
from contextlib import closing

import pytest

pytest.importorskip("tensorboardX", reason="needs the control extra")

from tensorboardX.proto.event_pb2 import Event

from delightful.agents.tensorboard import TensorBoard
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


def test_every_record_is_there_once_after_a_resume(tmp_path):
    records = [{"step": 10.0, "loss": 1.0, "return": 2.0}, {"step": 20.0, "loss": 0.5}]
    expected = [(10, "loss", 1.0), (10, "return", 2.0), (20, "loss", 0.5)]
    other = tmp_path / "events.out.tfevents.1.another"
    other.touch()
    with closing(TensorBoard(tmp_path)) as board:
        board.add(records[:1])
        board.add(records[1:])
    assert shown(tmp_path) == expected
    with closing(TensorBoard(tmp_path)) as board:
        board.add(records)
    assert shown(tmp_path) == expected
    assert len(list(tmp_path.glob("events.*.delightful"))) == 1
    assert other.exists()


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LabError, match="cannot write to"):
        TensorBoard(tmp_path / "file" / "board").add([])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_full_disk_does_not_stop_a_run(tmp_path, monkeypatch):
    """The writer's thread ends; nothing waits for it, and closing says why."""

    def full(*_):
        raise OSError(28, "No space left on device")

    board = TensorBoard(tmp_path)
    board.add([{"step": 1.0, "loss": 0.0}])
    events = board._writer.file_writer.event_writer
    monkeypatch.setattr(events._ev_writer, "write_event", full)
    monkeypatch.setattr(events._ev_writer, "flush", full)
    board.add([{"step": float(step), "loss": 0.0} for step in range(100)])
    events._worker.join(timeout=30)
    assert not events._worker.is_alive()
    board.add([{"step": float(step), "loss": 0.0} for step in range(100)])
    with pytest.raises(LabError, match="No space left on device"):
        board.close()
