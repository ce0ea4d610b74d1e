"""The Ray cluster that actors run on: the one that is named, or a local one for the run."""

import contextlib
import logging
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import delightful
from delightful.lab.errors import LabError, install
from delightful.lab.runners import cores

SECONDS = 5.0  # until an address that does not answer is given up
OBJECT_STORE = 256 * 2**20  # bytes, of a local Ray: parameters of a few versions
# One thread for each process: several share a machine. Nobody's products then compete.
ONE_THREAD = {"NPROC": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[int]:
    """Connect to Ray; a local Ray is started for the block and stopped after it.

    Args:
        address: such as "10.0.0.1:6379"; None is $RAY_ADDRESS, or a local Ray if that is not set.

    Returns:
        A context, with the number of cores of the cluster.
    """
    if find_spec("ray") is None:
        raise LabError(f"actors need ray: {install('ray')}.")
    import ray

    if ray.is_initialized():  # the caller's own: it is theirs to stop
        yield int(ray.cluster_resources().get("CPU", 0))
        return
    address = address or os.environ.get("RAY_ADDRESS") or None
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address in (None, "local"):
        quiet |= {"include_dashboard": False, "object_store_memory": OBJECT_STORE}
        with warnings.catch_warnings():
            # JAX warns of a fork. Ray's is followed by exec, which no thread can disturb.
            warnings.filterwarnings("ignore", r"os\.fork\(\)", RuntimeWarning)
            ray.init(address="local", num_cpus=cores(), **quiet)
    else:
        assert address is not None
        check_answers(address)
        try:
            ray.init(address=address, **quiet)
        except Exception as error:
            raise LabError(
                f"no Ray cluster that takes us at {address} ({_first_line(error)}): is it Ray's "
                "address, of the same version, and is its token in $RAY_AUTH_TOKEN if it has one?"
            ) from None
    try:
        check_nodes()
        yield int(ray.cluster_resources().get("CPU", 0))
    finally:
        ray.shutdown()


def check_answers(address: str) -> None:
    """Ask for a connection first: Ray itself waits for minutes, and may end the process."""
    if address == "auto":
        return
    parts = urlsplit(address if "://" in address else f"ray://{address}")
    try:
        if parts.hostname is None or parts.port is None:
            raise ValueError
    except ValueError:
        raise LabError(f"a Ray address must read HOST:PORT, got {address!r}.") from None
    try:
        socket.create_connection((parts.hostname, parts.port), SECONDS).close()
    except OSError as error:
        raise LabError(
            f"nobody answers at the Ray address {address} ({error.strerror or error}): "
            "is the cluster up, and is that its HOST:PORT?"
        ) from None


def check_nodes() -> None:
    """Raise a LabError that names a node which cannot run our actors, before anything runs."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # A function inside a function: Ray sends its code, so that it runs where we are not installed.
    def installed() -> tuple[str, str]:
        try:
            import delightful
        except ImportError:
            return "", ""
        import sys

        return delightful.__version__, ".".join(map(str, sys.version_info[:2]))

    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    if not nodes:
        raise LabError("the Ray cluster has no cores: start a node with `ray start`.")
    ours = delightful.__version__, ".".join(map(str, sys.version_info[:2]))
    asked = {}
    for node in nodes:
        where = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        options = {"num_cpus": 0, "scheduling_strategy": where, "max_retries": 0}
        asked[node["NodeManagerAddress"]] = ray.remote(installed).options(**options).remote()
    for name, answer in asked.items():
        try:
            found = ray.get(answer)
        except ray.exceptions.RayError as error:
            raise LabError(f"node {name} cannot run a task: {_first_line(error)}.") from None
        if not found[0]:
            raise LabError(
                f"node {name} of the Ray cluster has no delightful {ours[0]}: install it there "
                "in the Python that runs `ray start`."
            )
        if found != ours:
            raise LabError(
                f"node {name} of the Ray cluster has delightful {found[0]} on Python {found[1]}, "
                f"this is {ours[0]} on Python {ours[1]}: install the same on both."
            )


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
