"""Runs: they repeat to the byte, resume after a kill, survive their actors, can be extended."""

import dataclasses
import json
import multiprocessing
import os
import signal
import time

import numpy as np
import pytest

from delightful.agents.control import learner, training
from delightful.agents.control.actor_process import ActorProcess
from delightful.agents.control.checkpoints import Checkpoint, CheckpointError, share
from delightful.agents.control.config import CHUNK
from delightful.agents.control.training import train
from delightful.agents.serialization import flatten
from delightful.lab.cells import digest
from delightful.lab.compiling import use_threads
from delightful.lab.errors import LabError
from delightful.paper.control import train as runs


def same(one, other):
    """Whether two runs ended alike, to the last bit."""
    (records, weights), (other_records, other_weights) = one, other
    assert records == other_records
    ours, theirs = flatten(weights), flatten(other_weights)
    return all(np.array_equal(ours[name], theirs[name]) for name in ours | theirs)


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    """Checkpoints whenever there can be one, which say what those of other processes do."""
    monkeypatch.setattr(training, "BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setenv("NPROC", "1")


@pytest.fixture(scope="module")
def whole(small):
    """The small run, never interrupted."""
    return train(small, 0)


def test_a_run_repeats_to_the_byte_and_differs_by_seed(small, whole):
    assert same(whole, train(small, 0))
    assert whole[0] != train(small, 1)[0]
    steps = [record["step"] for record in whole[0]]
    assert steps == [1000, 2000, 3000, 4000]
    assert all(np.isfinite(list(record.values())).all() for record in whole[0])


@pytest.mark.parametrize("chunk", [1, 4, 7])
def test_a_stopped_run_goes_on_as_if_it_had_not_been(small, whole, tmp_path, chunk):
    seen = []

    def stop(progress):
        seen.append(progress.step)
        return len(seen) >= chunk

    part = train(small, 0, tmp_path, stop)
    assert len(part[0]) < 4
    assert same(train(small, 0, tmp_path), whole)


@pytest.mark.slow
@pytest.mark.parametrize("replay", [2_000_000, 4 * 4 * CHUNK])  # the small ring wraps
def test_an_extended_run_is_the_longer_run_to_the_bit(small, tmp_path, replay):
    long = dataclasses.replace(small, replay=replay)
    short = dataclasses.replace(long, steps=2000, records=2)
    first = train(short, 0, tmp_path)
    assert len(first[0]) == 2
    extended = train(long, 0, tmp_path, extend=True)
    assert same(extended, train(long, 0))
    assert extended[0][:2] == first[0]
    assert same(train(long, 0, tmp_path, extend=True), extended)  # again: it is finished
    assert same(train(long, 0, tmp_path), extended)


def test_a_run_is_extended_from_where_it_was_stopped(small, whole, stopped):
    _, folder = stopped
    longer = dataclasses.replace(small, steps=5000, records=5)
    count = [0]

    def stop(_):
        count[0] += 1
        return count[0] >= 3

    train(longer, 0, folder, stop, extend=True)
    found = train(longer, 0, folder)  # its length is now the checkpoint's
    assert found[0][:4] == whole[0]
    assert len(found[0]) == 5


def test_another_length_is_refused_without_extend_and_a_shorter_one_with_it(stopped):
    config, folder = stopped
    longer = dataclasses.replace(config, steps=8000, records=8)
    sentence = r"holds this run over 4,000 steps, not 8,000: give --steps 4000, or --extend"
    with pytest.raises(CheckpointError, match=sentence):
        train(longer, 0, folder)
    shorter = dataclasses.replace(config, steps=2000, records=2)
    with pytest.raises(CheckpointError, match="not 2,000"):
        train(shorter, 0, folder, extend=True)
    with pytest.raises(CheckpointError, match=r"another run \(records 4\)"):
        train(dataclasses.replace(config, records=2), 0, folder, extend=True)
    with pytest.raises(CheckpointError, match="another run"):
        train(dataclasses.replace(longer, width=8), 0, folder, extend=True)


@pytest.mark.slow
def test_it_goes_on_when_the_ring_has_wrapped(small, tmp_path):
    config = dataclasses.replace(small, replay=4 * CHUNK * small.actors)
    count = [0]

    def stop(_):
        count[0] += 1
        return count[0] >= 8

    train(config, 0, tmp_path, stop)
    assert (
        len(list(tmp_path.glob("replay-*.safetensors"))) <= 5
    )  # what the ring has dropped is removed
    assert same(train(config, 0, tmp_path), train(config, 0))


def _run_until_killed(config, folder):
    use_threads()
    training.BETWEEN_CHECKPOINTS = 0.0
    train(config, 0, folder)


@pytest.mark.slow
def test_kill_9_loses_nothing_but_time(small, tmp_path):
    config = dataclasses.replace(small, steps=8000)
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_run_until_killed, args=(config, tmp_path))
    process.start()
    try:
        while not list(tmp_path.glob("replay-0000003-*.safetensors")):
            assert process.is_alive()
            time.sleep(0.02)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    assert same(train(config, 0, tmp_path), train(config, 0))


def test_a_finished_run_is_not_run_again(small, tmp_path):
    first = train(small, 0, tmp_path)
    assert list(tmp_path.glob("replay-*.safetensors"))  # kept: the run can be extended
    start = time.monotonic()
    assert same(train(small, 0, tmp_path), first)
    assert time.monotonic() - start < 10


@pytest.mark.slow
def test_dead_actors_are_started_again_and_change_nothing(
    small, whole, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("DEADLY", str(tmp_path / "died"))
    deadly = dataclasses.replace(small, task="gym:misbehaving:Deadly-v0")
    seen = []
    found = train(deadly, 0, watch=lambda progress: bool(seen.append(progress.restarts)))
    assert seen[-1] == 1
    assert (tmp_path / "died").exists()
    assert "started again" in capsys.readouterr().err
    assert same(found, whole)


@pytest.mark.slow
def test_actors_that_always_die_are_an_error(small, tmp_path, monkeypatch):
    monkeypatch.setenv("DEADLY", str(tmp_path / "no such folder" / "mark"))
    monkeypatch.setattr("misbehaving.Path.touch", lambda _: None)
    deadly = dataclasses.replace(small, task="gym:misbehaving:Deadly-v0")
    with pytest.raises(LabError, match=r"died 3 times|No such file"):
        train(deadly, 0)


@pytest.mark.slow
def test_episodes_with_nan_are_dropped_and_counted(small):
    records, weights = train(dataclasses.replace(small, task="gym:misbehaving:Exploding-v0"), 0)
    assert sum(record["dropped"] for record in records) > 0
    assert all(np.isfinite(list(record.values())).all() for record in records)
    assert all(np.isfinite(array).all() for array in flatten(weights).values())


def test_a_task_that_fails_says_so(small):
    with pytest.raises(LabError, match="Discrete actions"):
        train(dataclasses.replace(small, task="gym:misbehaving:Discrete-v0"), 0)
    with pytest.raises(LabError, match="did you mean"):
        train(dataclasses.replace(small, task="gym:Pendulun-v1"), 0)


@pytest.fixture
def stopped(small, tmp_path):
    count = [0]

    def stop(_):
        count[0] += 1
        return count[0] >= 4

    folder = tmp_path / "run"
    train(small, 0, folder, stop)
    return small, folder


def test_a_checkpoint_tells_how_far_its_run_is(stopped):
    config, folder = stopped
    folder.rename(folder.parent / "0")
    assert share(config, np.array([0]), folder.parent) == 4 / 11
    assert share(config, np.array([0, 1]), folder.parent) == 2 / 11
    (folder.parent / "0" / "checkpoint.json").write_text("{")
    assert share(config, np.array([0]), folder.parent) == 0


def test_damage_is_named_and_nothing_is_lost(stopped, whole):
    config, folder = stopped
    for path in folder.iterdir():
        kept = path.read_bytes()
        path.write_bytes(kept[: len(kept) // 2])
        with pytest.raises(CheckpointError, match=path.name):
            train(config, 0, folder)
        path.write_bytes(kept)
    assert same(train(config, 0, folder), whole)


def test_another_run_or_version_is_refused(stopped, monkeypatch):
    config, folder = stopped
    with pytest.raises(CheckpointError, match=r"another run \(width 16\)"):
        train(dataclasses.replace(config, width=8), 0, folder)
    with pytest.raises(CheckpointError, match="seed 0"):
        train(config, 1, folder)
    with monkeypatch.context() as other:
        other.setenv("NPROC", "7")
        with pytest.raises(CheckpointError, match="threads"):
            train(config, 0, folder)
    path = folder / "checkpoint.json"
    entry = json.loads(path.read_text())
    entry.pop("seal")
    entry["version"] = 0
    path.write_text(json.dumps({**entry, "seal": digest(entry)}))
    with pytest.raises(CheckpointError, match="version 0"):
        train(config, 0, folder)


def test_a_full_disk_is_a_sentence(small, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("delightful.agents.control.checkpoints.write_whole", full)
    with pytest.raises(LabError, match="No space left on device"):
        train(small, 0, tmp_path)


def test_messages_larger_than_a_pipe_do_not_meet_in_it(small):
    """Transitions on their way here and weights on their way there, neither read yet."""
    config = dataclasses.replace(small, actors=96, width=256)
    weights = training.weights(learner.initial(config, 0, 2, 1))
    with ActorProcess(config, 0) as actors:
        actors.collect(weights)
        actors.evaluate(1, weights)
        actors.collect(weights)
        assert actors.collected()[0].reward.shape == (CHUNK, 96)
        assert set(actors.evaluated()) == {"deterministic", "stochastic", "dropped"}


def test_only_its_own_files_are_removed(small, tmp_path):
    other = tmp_path / "model.safetensors"
    other.write_bytes(b"not ours")
    train(small, 0, tmp_path)
    assert other.read_bytes() == b"not ours"


def test_the_lab_starts_a_damaged_run_over_and_puts_the_old_one_aside(
    stopped, whole, tmp_path, capsys
):
    config, folder = stopped
    (folder / "checkpoint.json").write_text("{}")
    home = tmp_path.parent / f"{tmp_path.name}-lab"
    home.mkdir()
    folder.rename(home / "0")
    curves = runs.run(config, np.arange(1), home)
    assert list(curves["deterministic"][0]) == [r["deterministic"] for r in whole[0]]
    assert (home / "0.aside-1" / "checkpoint.json").read_text() == "{}"
    assert "damaged" in capsys.readouterr().err


def test_records_must_be_two_chunks_apart(small):
    with pytest.raises(ValueError, match="at least 728 steps apart"):
        dataclasses.replace(small, records=10).check()
    for changes in ({"discount": 1.0}, {"replay": 10}):
        with pytest.raises(ValueError, match=r"must"):
            dataclasses.replace(small, **changes).check()


def test_an_empty_folder_holds_no_checkpoint(tmp_path):
    assert Checkpoint(tmp_path, {}).state() == ({}, {})
