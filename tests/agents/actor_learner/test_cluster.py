"""Ray clusters: which addresses are refused, and nodes that cannot run our actors."""

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

from delightful.agents.actor_learner import ActorLearnerConfig, cluster, train
from delightful.lab.errors import LabError

HERE = Path(__file__).parent
TOKEN = secrets.token_hex(32)  # of the clusters that are started here


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_an_address_nobody_answers_is_said():
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(LabError, match=f"nobody answers at the Ray address {address}"):
        cluster.check_answers(address)
    with pytest.raises(LabError, match="must read HOST:PORT, got 'nonsense'"):
        cluster.check_answers("nonsense")


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", TOKEN)


@contextlib.contextmanager
def head_node(first_on_path):
    """The address of a Ray cluster of one node, as `ray start` makes it."""
    pytest.importorskip("ray")
    port = free_port()
    paths = (str(first_on_path), os.environ.get("PYTHONPATH", ""))
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
        for line in process.stdout:
            if "--block" in line:  # the last thing that it says
                break
        yield f"127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=100)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's, of its sockets and files
def test_a_named_cluster_is_used_and_left_running():
    config = ActorLearnerConfig(actors=2, steps=5, batches=2, queue=2)
    with head_node(HERE) as address:
        for _ in range(2):
            assert train(ToyActor, ToyLearner(), config, address=address).step == 5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("raise ImportError", "has no delightful"),
        ("__version__ = '0.0.1'", "has delightful 0.0.1 on Python .*: install the same on both"),
    ],
)
def test_a_node_without_our_delightful_is_named(tmp_path, module, said):
    (tmp_path / "delightful.py").write_text(module)
    config = ActorLearnerConfig(actors=2, steps=5, batches=2, queue=2)
    with head_node(tmp_path) as address, pytest.raises(LabError, match=rf"node \S+ .*{said}"):
        train(ToyActor, ToyLearner(), config, address=address)
