"""`delightful train`, as a user runs it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from delightful.agents.control import Policy, load_policy, rendering
from delightful.agents.control.training import Progress
from delightful.cli.train import Watcher, remaining
from delightful.lab.errors import LabError

HERE = Path(__file__).parent
SMALL = ("--steps", "3000", "--set", "records=3", "--set", "random_steps=728", "--set", "width=8")
SMALL += ("--set", "batch=16", "--set", "episodes=1")


def command(*arguments):
    return [sys.executable, "-m", "delightful.cli", "train", *arguments]


@pytest.fixture
def environment():
    paths = (str(HERE), os.environ.get("PYTHONPATH", ""))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def delightful(folder, environment, *arguments):
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.mark.slow
def test_a_run_leaves_its_log_its_policy_and_tensorboards_and_is_not_run_twice(
    tmp_path, environment
):
    first = delightful(tmp_path, environment, "gym:misbehaving:Toy-v0", *SMALL)
    assert first.returncode == 0, first.stderr
    assert "return" in first.stdout
    assert "steps/s" in first.stderr
    folder = tmp_path / "runs" / "gym-misbehaving-Toy-v0-dg-seed0"
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert [record["step"] for record in log] == [1000, 2000, 3000]
    assert {"deterministic", "stochastic", "training", "inverted", "dropped"} <= set(log[0])
    assert list((folder / "tensorboard").glob("events.*"))
    policy = load_policy(folder / "policy.safetensors")
    assert policy.task == "gym:misbehaving:Toy-v0"
    assert policy.act(np.zeros((5, 2))).shape == (5, 1)
    there = folder.relative_to(tmp_path)
    for said in (
        f"{there}/policy.safetensors (delightful play {there}/policy.safetensors)",
        f"{there}/log.jsonl\n",
        f"tensorboard --logdir {there}/tensorboard)",
        f"{there}/checkpoint.json (to train on: --extend",
    ):
        assert said in first.stdout
    before = (folder / "log.jsonl").read_bytes()
    again = delightful(tmp_path, environment, "gym:misbehaving:Toy-v0", *SMALL)
    assert again.stdout == first.stdout
    assert (folder / "log.jsonl").read_bytes() == before


@pytest.mark.slow
def test_an_extended_run_is_the_longer_one(tmp_path, environment):
    task, long = "gym:misbehaving:Toy-v0", ("--steps", "6000", "--set", "records=6")
    delightful(tmp_path, environment, task, *SMALL, "--out", "short")
    # `records` of the command does not matter: the spacing stays.
    found = delightful(tmp_path, environment, task, *SMALL, *long[:2], "--extend", "--out", "short")
    assert found.returncode == 0, found.stderr
    whole = delightful(tmp_path, environment, task, *SMALL, *long, "--out", "whole")
    assert whole.returncode == 0, whole.stderr
    for name in ("policy.safetensors", "log.jsonl"):
        one, other = (tmp_path / folder / name for folder in ("short", "whole"))
        assert one.read_bytes() == other.read_bytes()
    for steps, said in (
        ("3000", "--steps must be at least 7,000 to extend the run in short, which has 6,000"),
        ("6600", "and is evaluated every 1,000; got 6,600."),
    ):
        options = (*SMALL, "--steps", steps, "--extend", "--out", "short")
        refused = delightful(tmp_path, environment, task, *options)
        assert refused.returncode == 2
        assert said in refused.stderr
    refused = delightful(tmp_path, environment, task, *SMALL, "--out", "short")
    assert "short holds this run over 6,000 steps, not 3,000: give --steps 6000" in refused.stderr


def test_the_time_left_after_a_resume_is_by_this_commands_own_rate(small, tmp_path, monkeypatch):
    """A run of 4,000 steps, resumed at 3,000: the 3,000 are not this command's."""
    now = [100.0]
    monkeypatch.setattr("delightful.cli.train.time.monotonic", lambda: now[0])
    said = []

    class Bar:
        def update(self, _, **fields):
            said.append(fields["said"])

    class Console:
        is_terminal = True

    watcher = Watcher(small, tmp_path, Console(), None)
    watcher._bar, watcher._seen = Bar(), 0
    for step in (3000, 3100, 3200):
        watcher(Progress(step, None, [], 0))
        now[0] += 10
    assert said == ["", "10 steps/s, about 90 s left", "10 steps/s, about 80 s left"]
    assert remaining(6000, 10.0) == "about 10 min left"


@pytest.mark.slow
def test_a_run_with_two_threads_repeats_to_the_byte(tmp_path, environment):
    environment.pop("NPROC", None)  # the tests' own: one thread each
    short = ("--steps", "6000", "--set", "random_steps=1000", "--set", "records=1")
    for out in ("one", "other"):
        found = delightful(tmp_path, environment, "cheetah:run", *short, "--out", out)
        assert found.returncode == 0, found.stderr
    for name in ("policy.safetensors", "log.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_done(tmp_path, environment):
    arguments = ("gym:misbehaving:Toy-v0", *SMALL, "--steps", "200000", "--set", "records=200")
    process = subprocess.Popen(
        command(*arguments), cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    log = tmp_path / "runs" / "gym-misbehaving-Toy-v0-dg-seed0" / "log.jsonl"
    while not (log.exists() and log.read_text()):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=100)[1]
    assert process.returncode == 2
    assert "give the same command again to go on" in said
    assert "Traceback" not in said
    assert (log.parent / "checkpoint.json").exists()


@pytest.mark.slow
def test_ctrl_c_ends_a_sweep_in_the_middle_of_a_long_run(tmp_path, environment):
    long = ("run", "control/tasks", "--scale", "smoke", "--set", "steps=50000000", "--workers", "2")
    process = subprocess.Popen(
        [sys.executable, "-m", "delightful.cli", *long],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        while not list(tmp_path.glob("results/unfinished/*")):
            assert process.poll() is None
            time.sleep(0.1)
        time.sleep(2)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        said = process.communicate(timeout=60)[1]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 2
    assert "0 of 4 cells were finished" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cheetah:rum"], "unknown task 'cheetah:rum': did you mean cheetah:run"),
        (["cheetah:run", "--steps", "many"], "--steps must be a whole number, got 'many'."),
        (["cheetah:run", "--steps", "1e5.5"], "--steps must be a whole number, got '1e5.5'."),
        (["cheetah:run", "--steps", "0"], "--steps must be at least 1, got 0."),
        (["cheetah:run", "--seed", "-1"], "--seed must be at least 0 and below 2**31, got -1."),
        (["cheetah:run", "--method", "sac"], "method must be one of"),
        (
            ["cheetah:run", "--set", "draws=2"],
            "draws must be even and, with reading fresh,",
        ),
        (
            ["cheetah:run", "--set", "reading=old"],
            "reading must be one of replayed, fresh",
        ),
        (["cheetah:run", "--steps", "4000"], "steps must be more than random_steps"),
        (["cheetah:run", "--set", "kl"], "--set must read FIELD=VALUE"),
        (["gym:misbehaving:Discrete-v0"], "Discrete actions"),
        (
            ["cheetah:run", "--render", "film.gif"],
            "--render must name an .mp4 or a .png file, got film.gif.",
        ),
        (["cheetah:run", "--extend"], "runs/cheetah-run-dg-seed0 has no run to extend: leave out"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(tmp_path, environment, arguments, said):
    found = delightful(tmp_path, environment, *arguments)
    assert found.returncode == 2
    assert said in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.slow
def test_an_episode_is_filmed(tmp_path, environment):
    found = delightful(tmp_path, environment, "cartpole:swingup", *SMALL, "--render", "film.mp4")
    assert found.returncode == 0, found.stderr
    film = (tmp_path / "film.mp4").read_bytes()
    assert film[4:8] == b"ftyp"
    assert len(film) > 10_000


def test_a_film_that_cannot_be_made_says_why(small, tmp_path, monkeypatch):
    with pytest.raises(LabError, match="nothing was rendered: "):
        rendering.render(Policy(small, {}), 0, tmp_path / "film.mp4")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LabError, match=r"--render cannot write to .*file: File exists"):
        rendering.check(small.task, tmp_path / "file" / "film.mp4", "--render")
    monkeypatch.setattr(rendering, "find_spec", lambda _: None)
    with pytest.raises(LabError, match=r"pip install '\.\[control\]'"):
        rendering.check(small.task, tmp_path / "film.mp4", "--render")


def test_a_machine_that_cannot_draw_is_reported_before_training(tmp_path, environment):
    without = environment | {"MUJOCO_GL": "none"}
    found = delightful(tmp_path, without, "cartpole:swingup", *SMALL, "--render", "film.mp4")
    assert found.returncode == 2
    assert "nothing was rendered: " in found.stderr
    assert "apt-get install libegl1 libgl1" in found.stderr
    assert not (tmp_path / "runs").exists()
