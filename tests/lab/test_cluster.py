"""Connections to Ray, addresses that are refused, and what a node is said to lack."""

import socket
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from jax._src import xla_bridge

from delightful.cli.main import main
from delightful.lab import cluster, nodes
from delightful.lab.errors import LabError

pytest.importorskip("ray")
LOCAL = """
import jax, os
from delightful.lab.cluster import connected, imported
jax.devices()
with connected("local", 1) as cluster:
    folder = imported()._private.worker._global_node.get_temp_dir_path()
    print(cluster.cores(), os.path.isdir(folder))
print(imported().is_initialized(), os.path.isdir(folder))
"""


@pytest.mark.slow
def test_a_local_ray_is_stopped_and_jax_does_not_warn_that_it_forks() -> None:
    command = [sys.executable, "-W", "always::RuntimeWarning", "-c", LOCAL]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "1 True\nFalse False\n"
    assert done.stderr == ""


def test_starting_ray_silences_warnings_of_a_fork_alone() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with cluster.starting_ray():
            xla_bridge._at_fork()  # what JAX does then
            warnings.warn("multi-threaded, use of fork() may deadlock", stacklevel=1)  # Python 3.12
            with pytest.raises(UserWarning, match="another"):
                warnings.warn("another", stacklevel=1)
        with pytest.raises(RuntimeWarning, match=r"os\.fork"):
            xla_bridge._at_fork()


class InitialisedError(Exception):
    """Raised by a `ray.init` that is none, with the address that it was given."""


@pytest.fixture
def fake_init(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(address: str, **_: object) -> None:
        raise InitialisedError(address)

    monkeypatch.setattr(cluster.imported(), "init", init)
    monkeypatch.setattr(cluster, "_check_answer", lambda _: None)


@pytest.mark.parametrize(
    ("option", "variable", "expected"),
    [
        (None, "10.0.0.1:6379", "10.0.0.1:6379"),
        ("10.0.0.2:6379", "10.0.0.1:6379", "10.0.0.2:6379"),
        ("local", "10.0.0.1:6379", "local"),
        (None, "", "local"),
    ],
)
@pytest.mark.usefixtures("fake_init")
def test_a_run_connects_to_its_option_else_to_the_environments_ray(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    option: str | None,
    variable: str,
    expected: str,
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", variable)
    command = f"run bandit/alignment --scale smoke --store {tmp_path} --ray"
    assert main([*command.split(), *(["--ray-address", option] if option else [])]) == 2
    assert f"Ray at {expected} cannot be used: {expected}." in capsys.readouterr().err


# What is refused


def test_auto_without_a_cluster_is_one_sentence_of_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def init(*_: object, **__: object) -> None:
        raise ConnectionError(
            "Could not find any running Ray instance. Please specify the one to connect to by "
            "setting `--address` flag or `RAY_ADDRESS` environment variable."
        )

    monkeypatch.setattr(cluster.imported(), "init", init)
    command = f"run bandit/alignment --scale smoke --store {tmp_path} --ray --ray-address auto"
    assert main(command.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith("delightful: no Ray cluster runs on this machine: give --ray-address")
    assert error.count("\n") == 1


def test_what_a_node_lacks_is_one_sentence() -> None:
    ours = {"python": "3.11", "delightful": "1.0", "mujoco": "3.17"}
    assert nodes.difference("n", ours, ours) == ""
    for found, said in (
        ({"delightful": ""}, "node n has no delightful, and here it is 1.0"),
        ({"mujoco": "3.0"}, "node n has mujoco 3.0, and here it is 3.17"),
        ({"python": "3.12"}, "node n has python 3.12, and here it is 3.11"),
    ):
        sentence = nodes.difference("n", {**ours, **found}, ours)
        assert sentence == f"{said}: install the same on every node."


def test_the_check_sees_packages_that_are_missing_and_other_source() -> None:
    found = nodes.inspector()(["no_such_package", "numpy", "delightful", "ray_programs"])
    assert found["no_such_package"] == ""
    assert found["numpy"][0].isdigit()
    assert " with source " in found["delightful"]
    assert found["ray_programs"] == "installed"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--ray --ray-address 127.0.0.1:1", "no Ray answers at 127.0.0.1:1: "),
        ("--ray --ray-address nowhere", "must read HOST:PORT, or auto, got 'nowhere'"),
        ("--ray --ray-address ray://head:10001", "give the command to `ray job submit`"),
        ("--ray-address auto", "give it together with --ray"),
        ("--ray --workers 0", "--workers must be at least 1, got 0"),
    ],
)
def test_a_wrong_address_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: str, said: str
) -> None:
    command = f"run bandit/alignment --scale smoke --store {tmp_path} {options}"
    assert main(command.split()) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_cluster_that_wants_a_token_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_KNOCK", "raise SystemExit('AuthenticationError')")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(LabError, match=f"Ray at {address} wants a token: set RAY_AUTH_MODE"):
            cluster.connected(address, 1).__enter__()


def test_without_ray_the_command_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(f"run bandit/alignment --ray --store {tmp_path}".split()) == 2
    assert "pip install '.[ray]' in a clone" in capsys.readouterr().err
