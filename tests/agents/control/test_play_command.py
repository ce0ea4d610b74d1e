"""`delightful play`, as a user runs it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from matplotlib import image

from delightful.agents.control import Policy, environments, load_policy, networks, rendering
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.policy import policy_bytes

HERE = Path(__file__).parent


def saved(path, task):
    envs = environments.make(task, 1, 0)
    config = ControlConfig(task=task, width=8)
    actor = networks.initial_actor(jax.random.key(0), config, envs.observed, envs.actions)
    path.write_bytes(policy_bytes(Policy(config, jax.tree.map(np.asarray, actor))))
    return path


def play(*arguments, **more):
    paths = (str(HERE), os.environ.get("PYTHONPATH", ""))
    return subprocess.run(
        [sys.executable, "-m", "delightful.cli", "play", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **more},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_it_plays_whole_episodes_with_the_mean_action(tmp_path):
    path = saved(tmp_path / "policy.safetensors", "gym:misbehaving:Toy-v0")
    found = play(path, "--episodes", 2, "--seed", 3)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("gym:misbehaving:Toy-v0, dg, 10,000,000 steps of training\n")
    returns = rendering.play(load_policy(path), 3, 2)
    assert returns[0] != returns[1]
    shown = re.findall(r"episode (\d): return ([\d.]+)", found.stdout)
    assert shown == [(str(i), f"{total:.1f}") for i, total in enumerate(returns, 1)]


@pytest.mark.filterwarnings("ignore:.*WARN")  # Gymnasium's, of the NaN
def test_an_episode_with_nan_is_reported(tmp_path):
    path = saved(tmp_path / "policy.safetensors", "gym:misbehaving:Exploding-v0")
    policy = load_policy(path)
    policy.weights["mean"]["bias"][:] = 9  # to the right, where it gives NaN
    path.write_bytes(policy_bytes(policy))
    found = play(path)
    assert found.returncode == 0, found.stderr
    assert "episode 1: the simulator gave NaN" in found.stdout


@pytest.mark.slow
def test_a_film_shows_the_episodes_whose_returns_are_printed(tmp_path):
    path = saved(tmp_path / "policy.safetensors", "cartpole:swingup")
    film = tmp_path / "films" / "clip.mp4"
    found = play(path, "--out", film, "--seed", 1)
    assert found.returncode == 0, found.stderr
    assert film.read_bytes()[4:8] == b"ftyp"
    assert film.stat().st_size > 10_000
    assert list(film.parent.iterdir()) == [film]
    (total,) = rendering.play(load_policy(path), 1)
    assert f"episode 1: return {total:.1f}" in found.stdout
    assert f"written to {film}" in found.stdout


@pytest.mark.slow
def test_a_strip_has_a_row_of_pictures_for_each_episode(tmp_path):
    path = saved(tmp_path / "policy.safetensors", "cartpole:swingup")
    strip = tmp_path / "strip.png"
    found = play(path, "--out", strip, "--episodes", 2)
    assert found.returncode == 0, found.stderr
    pictures = image.imread(strip)
    height, width = rendering.SIZE
    assert pictures.shape[:2] == (2 * height, rendering.PICTURES * width)
    assert np.ptp(pictures[:height, :width]) > 0.1  # something is to be seen
    assert (pictures[:height, :width] != pictures[:height, -width:]).any()  # and it moves
    totals = rendering.play(load_policy(path), 0, 2)
    assert all(f"return {total:.1f}" in found.stdout for total in totals)


def test_what_cannot_be_played_is_one_sentence(tmp_path):
    path = saved(tmp_path / "policy.safetensors", "gym:misbehaving:Toy-v0")
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(path.read_bytes()[:-1])
    for arguments, said in (
        ([tmp_path / "none"], "cannot read"),
        ([broken], f"{broken} is not a policy of `delightful train`, or is damaged"),
        ([path, "--episodes", 0], "--episodes must be at least 1, got 0."),
        ([path, "--seed", -1], "--seed must be at least 0 and below 2**31, got -1."),
        ([path, "--out", "clip.gif"], "--out must name an .mp4 or a .png file, got clip.gif."),
        ([path, "--out", tmp_path / "clip.mp4"], "nothing was rendered: "),  # Toy cannot be drawn
    ):
        found = play(*arguments)
        assert found.returncode == 2, found.stdout
        assert said in found.stderr
        assert "Traceback" not in found.stderr
        assert found.stderr.splitlines()[-1].startswith("delightful: ")
