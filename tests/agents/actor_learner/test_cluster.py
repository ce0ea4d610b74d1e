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


# In a process of its own: Ray reads the token once, when it is first imported.
TWICE = """
import sys
from toy import ToyActor, ToyLearner
from delightful.agents.actor_learner import ActorLearnerConfig, train
config = ActorLearnerConfig(actors=2, steps=5, batches=2, queue=2)
for _ in range(2):
    print(train(ToyActor, ToyLearner(), config, address=sys.argv[1]).step)
"""


@contextlib.contextmanager
def head_node(environment):
    """The address of a Ray cluster of one node, as `ray start` makes it."""
    port = free_port()
    command = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start"]
    options = ["--head", "--block", "--num-cpus=1", "--include-dashboard=false"]
    options += [f"--port={port}", "--node-ip-address=127.0.0.1", "--object-store-memory=100000000"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen([*command, *options], env=environment, text=True, **pipes)
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
def test_a_named_cluster_with_a_token_is_used_and_left_running():
    pytest.importorskip("ray")
    path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    environment = {**os.environ, **token, "PYTHONPATH": path}
    with head_node(environment) as address:
        command = [sys.executable, "-c", TWICE, address]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("5\n5\n", "")
