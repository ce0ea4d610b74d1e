"""The Ray cluster of a run: a named one, or a local one that is started and stopped here."""

import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from delightful.lab.errors import LabError, install
from delightful.lab.signals import ignoring_ctrl_c

_OBJECT_STORE = 300 * 2**20  # bytes of a local Ray: a data set, and what waits to be stored
_CONNECT, _ANSWER = 3.0, 15.0  # seconds within which an address must answer, and as Ray does
_KNOCK = "import sys; from ray._raylet import GcsClient; GcsClient(address=sys.argv[1])"
_REFRESH = 2.0  # seconds between two looks at the nodes
# Inherited by workers before they import anything, so that each computes with one thread.
_ENVIRONMENT = {"NPROC": "1", "OPENBLAS_NUM_THREADS": "1", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


class Node(NamedTuple):
    """A machine of the cluster that can run cells."""

    id: str
    name: str
    cores: int


class Cluster:
    """A connection to Ray.

    Args:
        address: As `ray.init` takes it; None for $RAY_ADDRESS or else a local Ray.
        workers: The cores of a local Ray.
    """

    def __init__(self, address: str | None, workers: int) -> None:
        ray = imported()
        address = address or os.environ.get("RAY_ADDRESS") or "local"
        self._folder: Path | None = None
        self._seen = -_REFRESH, list[Node]()
        options: dict[str, Any] = {"runtime_env": {"env_vars": _ENVIRONMENT}}
        if address == "local":
            # Not in $TMPDIR: the path of a socket has at most 107 bytes.
            short = "/tmp" if sys.platform != "win32" else None
            self._folder = Path(tempfile.mkdtemp(prefix="delightful-ray-", dir=short))
            options |= {
                "num_cpus": workers,
                "include_dashboard": False,
                "object_store_memory": _OBJECT_STORE,
                "_temp_dir": str(self._folder),
            }
        else:
            _check_answer(address)
        # Ray prints each lost worker on stdout, whatever it is told; we count them.
        self._print = ray._private.worker.print_to_stdstream
        ray._private.worker.print_to_stdstream = lambda *_, **__: None
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.CRITICAL, **options)
        except Exception as error:  # Ray raises its bases too, for a slow start say
            self.close()
            reason = " ".join(str(error).split()).rstrip(".")
            raise LabError(f"Ray at {address} cannot be used: {reason}.") from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Disconnect, which ends what still runs for us; a local Ray is stopped."""
        with ignoring_ctrl_c():
            ray = imported()
            ray.shutdown()
            ray._private.worker.print_to_stdstream = self._print
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def nodes(self, afresh: bool = False) -> list[Node]:
        """The nodes that can run cells, as they were seen a moment ago, or are now."""
        when, found = self._seen
        if afresh or time.monotonic() - when >= _REFRESH:
            found = [
                Node(node["NodeID"], _name(node), int(node["Resources"].get("CPU", 0)))
                for node in imported().nodes()
                if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
            ]
            self._seen = time.monotonic(), found
        return found

    def grows(self) -> bool:
        """Whether an autoscaler may add nodes."""
        ray = imported()
        from ray.autoscaler.v2.sdk import get_cluster_status

        status = get_cluster_status(ray.get_runtime_context().gcs_address)
        nodes = [*status.active_nodes, *status.idle_nodes, *status.pending_nodes]
        # Without one, each node is reported as a type of its own, which bears its id.
        return any(node.ray_node_type_name not in ("", f"node_{node.node_id}") for node in nodes)


def imported() -> Any:
    """The package `ray`, quiet; or an error that says how to install it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray warns that this will become the default.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ModuleNotFoundError:
        raise LabError(f"--ray needs ray, which is missing: {install('ray')}.") from None
    return ray


def _name(node: dict[str, Any]) -> str:
    return f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"


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
