"""`delightful train`, as a person uses it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from delightful.agents.control import rendering
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.policy import gaussian
from delightful.agents.control.serialization import nest, unpack

HERE = Path(__file__).parent
SMALL = ("--steps", "3000", "--set", "records=3", "--set", "random_steps=728", "--set", "width=8")
SMALL += ("--set", "batch=16", "--set", "episodes=1")


def command(*arguments):
    return [sys.executable, "-m", "delightful.cli", "train", *arguments]


@pytest.fixture
def environment():
    return {**os.environ, "PYTHONPATH": str(HERE)}


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
def test_a_run_leaves_its_log_its_policy_and_a_board_and_is_not_run_twice(tmp_path, environment):
    first = delightful(tmp_path, environment, "gym:misbehaving:Toy-v0", *SMALL)
    assert first.returncode == 0, first.stderr
    assert "return" in first.stdout
    assert "steps/s" in first.stderr
    folder = tmp_path / "runs" / "gym-misbehaving-Toy-v0-dg-seed0"
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert [record["step"] for record in log] == [1000, 2000, 3000]
    assert {"deterministic", "stochastic", "training", "inverted", "dropped"} <= set(log[0])
    assert list((folder / "tensorboard").glob("events.*"))
    facts, arrays = unpack((folder / "policy.bin").read_bytes())
    assert facts["config"]["task"] == "gym:misbehaving:Toy-v0"
    seen = np.zeros((5, 2), np.float32)
    mean, deviation = gaussian(ControlConfig(**facts["config"]), nest(arrays), seen)
    assert mean.shape == deviation.shape == (5, 1)
    before = (folder / "log.jsonl").read_bytes()
    again = delightful(tmp_path, environment, "gym:misbehaving:Toy-v0", *SMALL)
    assert again.stdout == first.stdout
    assert (folder / "log.jsonl").read_bytes() == before


@pytest.mark.slow
def test_a_run_with_two_threads_repeats_to_the_byte(tmp_path, environment):
    environment.pop("NPROC", None)  # the tests' own: one thread each
    short = ("--steps", "6000", "--set", "random_steps=1000", "--set", "records=1")
    for out in ("one", "other"):
        found = delightful(tmp_path, environment, "cheetah:run", *short, "--out", out)
        assert found.returncode == 0, found.stderr
    for name in ("policy.bin", "log.jsonl"):
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
    while not list(tmp_path.glob("results/unfinished/*")):
        assert process.poll() is None
        time.sleep(0.1)
    time.sleep(2)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    said = process.communicate(timeout=20)[1]
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
        (["cheetah:run", "--set", "draws=2"], "draws must be even and at least 4"),
        (["cheetah:run", "--steps", "4000"], "steps must be more than random_steps"),
        (["cheetah:run", "--set", "kl"], "--set must read FIELD=VALUE"),
        (["gym:misbehaving:Discrete-v0"], "Discrete actions"),
        (["cheetah:run", "--render", "film.gif"], "--render must name an .mp4 file, got film.gif."),
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
    from delightful.lab.errors import LabError

    with pytest.raises(LabError, match="nothing was rendered: "):
        rendering.render(small, {}, 0, tmp_path / "film.mp4")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LabError, match=r"--render cannot write to .*file: File exists"):
        rendering.check(small, tmp_path / "file" / "film.mp4")
    monkeypatch.setattr(rendering, "find_spec", lambda _: None)
    with pytest.raises(LabError, match="pip install 'delightful-rl"):
        rendering.check(small, tmp_path / "film.mp4")


def test_a_machine_that_cannot_draw_is_told_before_training(tmp_path, environment):
    without = environment | {"MUJOCO_GL": "none"}
    found = delightful(tmp_path, without, "cartpole:swingup", *SMALL, "--render", "film.mp4")
    assert found.returncode == 2
    assert "nothing was rendered: " in found.stderr
    assert "apt-get install libegl1 libgl1" in found.stderr
    assert not (tmp_path / "runs").exists()
