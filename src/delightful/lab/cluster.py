"""The Ray cluster of a run: a named one, the caller's, or a local one for the run alone."""

import contextlib
import logging
import os
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from delightful.lab.errors import LabError, install
from delightful.lab.signals import ignoring_ctrl_c

_OBJECT_STORE = 300 * 2**20  # bytes of a local Ray: a data set, and what waits to be stored
_CONNECT, _ANSWER = 3.0, 30.0  # seconds within which an address must answer, and as Ray does
_KNOCK = "import sys; from ray._raylet import GcsClient; GcsClient(address=sys.argv[1])"
_REFRESH = 2.0  # seconds between two looks at the nodes
# The runtime_env of our tasks and actors: a worker has these variables before it imports anything,
# so that it computes with one thread.
ONE_THREAD = {
    "env_vars": {
        "NPROC": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }
}


class Node(NamedTuple):
    """A machine of the cluster that can run our tasks."""

    id: str
    name: str
    cores: int


class Cluster:
    """The Ray cluster that this process is connected to; `connected` makes it."""

    def __init__(self) -> None:
        self._seen = -_REFRESH, list[Node]()

    def nodes(self, afresh: bool = False) -> list[Node]:
        """The nodes that have a core, as they were seen a moment ago, or are now."""
        when, found = self._seen
        if afresh or time.monotonic() - when >= _REFRESH:
            found = [
                Node(node["NodeID"], _name(node), int(node["Resources"].get("CPU", 0)))
                for node in imported().nodes()
                if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
            ]
            self._seen = time.monotonic(), found
        return found

    def cores(self) -> int:
        """The cores of all nodes."""
        return sum(node.cores for node in self.nodes())

    def grows(self) -> bool:
        """Whether an autoscaler may add nodes."""
        ray = imported()
        from ray.autoscaler.v2.sdk import get_cluster_status

        status = get_cluster_status(ray.get_runtime_context().gcs_address)
        nodes = [*status.active_nodes, *status.idle_nodes, *status.pending_nodes]
        # Without one, each node is reported as a type of its own, which bears its id.
        return any(node.ray_node_type_name not in ("", f"node_{node.node_id}") for node in nodes)


@contextlib.contextmanager
def connected(address: str | None, workers: int) -> Iterator[Cluster]:
    """Connect to Ray for a block; a local Ray is started for it and stopped after it.

    If the caller has called `ray.init`, that Ray is used, and left running.

    Args:
        address: HOST:PORT, "auto" or "local", as `ray.init` takes it; None for $RAY_ADDRESS or
            else a local Ray.
        workers: The cores of a local Ray.

    Returns:
        A context, with the cluster.
    """
    ray = imported()
    of_caller = ray.is_initialized()
    address = address or (not of_caller and os.environ.get("RAY_ADDRESS")) or "local"
    if address != "local":
        _check_answer(address)
    if of_caller:
        yield Cluster()
        return
    with contextlib.ExitStack() as after:
        options = _of_local_ray(workers, after) if address == "local" else {}
        # Ray prints each lost worker on stdout, whatever it is told; we count them.
        worker = ray._private.worker
        after.callback(setattr, worker, "print_to_stdstream", worker.print_to_stdstream)
        worker.print_to_stdstream = lambda *_, **__: None
        try:
            _initialise(address, options)
            yield Cluster()
        finally:
            with ignoring_ctrl_c():
                ray.shutdown()  # which ends what still runs for us
                after.close()


@contextlib.contextmanager
def starting_ray() -> Iterator[None]:
    """Silence the warnings of a fork in a process with threads, for a block that starts Ray.

    JAX and newer Pythons warn of it. Ray's fork is followed by exec, which no thread can disturb.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r".*\bfork\(\)")
        yield


def imported() -> Any:
    """The package `ray`, quiet; or an error that says how to install it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray warns that this will become the default.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ModuleNotFoundError:
        raise LabError(f"ray is not installed: {install('ray')}.") from None
    return ray


def _name(node: dict[str, Any]) -> str:
    return f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"


def _of_local_ray(workers: int, after: contextlib.ExitStack) -> dict[str, Any]:
    """The options with which a local Ray starts, in a folder that is deleted after it."""
    # Not in $TMPDIR: the path of a socket has at most 107 bytes.
    short = "/tmp" if sys.platform != "win32" else None
    folder = tempfile.TemporaryDirectory(
        prefix="delightful-ray-", dir=short, ignore_cleanup_errors=True
    )
    return {
        "num_cpus": workers,
        "include_dashboard": False,
        "object_store_memory": _OBJECT_STORE,
        "_temp_dir": after.enter_context(folder),
    }


def _initialise(address: str, options: dict[str, Any]) -> None:
    try:
        with starting_ray():
            imported().init(address, log_to_driver=False, logging_level=logging.CRITICAL, **options)
    except Exception as error:  # Ray raises its bases too, for a slow start say
        # Its words advise a flag that is not ours.
        if address == "auto" and isinstance(error, ConnectionError):
            raise LabError(
                "no Ray cluster runs on this machine: give --ray-address HOST:PORT, start one "
                "with `ray start --head`, or give no address for a local Ray."
            ) from None
        reason = " ".join(str(error).split()).rstrip(".")
        raise LabError(f"Ray at {address} cannot be used: {reason}.") from None


def _check_answer(address: str) -> None:
    """Refuse an address at which no Ray answers."""
    if address == "auto":
        return  # of this machine, which Ray sees at once
    if "://" in address:
        raise LabError(
            f"the address of Ray must read HOST:PORT, such as 10.0.0.1:6379, got {address!r}; "
            "from outside the cluster, give the command to `ray job submit`."
        )
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise LabError(f"the address of Ray must read HOST:PORT, or auto, got {address!r}.")
    try:
        socket.create_connection((host, int(port)), _CONNECT).close()
        # In a process of its own, which can be ended: Ray itself would try for a minute.
        command = [sys.executable, "-P", "-c", _KNOCK, address]
        subprocess.run(command, capture_output=True, check=True, timeout=_ANSWER)
    except subprocess.CalledProcessError as error:
        if b"AuthenticationError" in error.stderr:
            raise LabError(
                f"Ray at {address} wants a token: set RAY_AUTH_MODE=token, and give the cluster's "
                "token as Ray's page on token authentication says."
            ) from None
        raise _nobody(address) from None
    except (OSError, OverflowError, subprocess.SubprocessError):
        raise _nobody(address) from None


def _nobody(address: str) -> LabError:
    return LabError(
        f"no Ray answers at {address}: give the address that `ray start --head` printed, "
        "or none to start a local Ray."
    )
