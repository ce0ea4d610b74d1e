"""The actor–learner on a cluster that is named by its address."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from toy import ToyActor, ToyLearner

from delightful.agents.actor_learner import ActorLearnerConfig, train
from delightful.lab.errors import LabError

HERE = Path(__file__).parent
SMALL = ActorLearnerConfig(actors=2, steps=5, batches=2, queue=2)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", r"^no Ray answers at 127\.0\.0\.1:1: give the address .*\.$"),
        ("nonsense", r"must read HOST:PORT, or auto, got 'nonsense'\.$"),
    ],
)
def test_an_address_without_ray_is_one_sentence(address, said):
    pytest.importorskip("ray")
    with pytest.raises(LabError, match=said):
        train(ToyActor, ToyLearner(), SMALL, address=address)


@contextlib.contextmanager
def head_node():
    """The address of a Ray cluster of one node, as `ray start` makes it."""
    port = free_port()
    paths = (str(HERE), os.environ.get("PYTHONPATH", ""))
    command = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start"]
    options = ["--head", "--block", "--num-cpus=1", "--include-dashboard=false"]
    options += [f"--port={port}", "--node-ip-address=127.0.0.1", "--object-store-memory=100000000"]
    process = subprocess.Popen(
        [*command, *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if "--block" in line:  # the last thing that it says
                break
        assert process.poll() is None, "".join(said)
        yield f"127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=100)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's, of its sockets and files
def test_a_named_cluster_with_a_token_is_used_and_left_running(monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    with head_node() as address:
        for _ in range(2):
            assert train(ToyActor, ToyLearner(), SMALL, address=address).step == 5
