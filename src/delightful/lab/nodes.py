"""What the nodes of a Ray cluster must have: the versions of this process.

They are compared before anything runs, and again in each process of a worker or an actor, since
nodes may join later.
"""

import functools
import time
from collections.abc import Callable, Mapping, Sequence

from delightful.lab.cluster import ONE_THREAD, Cluster, imported
from delightful.lab.errors import LabError

# What is computed depends on all of these.
ALWAYS = ("python", "delightful", "jax", "jaxlib", "numpy", "polars")
_ANSWER = 120.0  # seconds within which a node must answer; starting Python may be slow

Versions = Mapping[str, str]  # by package; empty for one that is missing
Inspect = Callable[[Sequence[str]], dict[str, str]]


@functools.cache
def inspector() -> Inspect:
    """What looks at a node: a function of names that returns versions.

    Ray sends it by value, because it is nested: a node may lack this package, or have another
    version of it.
    """

    def inspect(packages: Sequence[str]) -> dict[str, str]:
        import hashlib
        import sys
        from importlib import metadata, util
        from pathlib import Path

        def version(package: str) -> str:
            if package == "python":
                return f"{sys.version_info[0]}.{sys.version_info[1]}"
            spec = util.find_spec(package)
            if spec is None:
                return ""
            if package == "delightful" and spec.origin is not None:
                # Two clones may have the same version: their files tell them apart.
                files = sorted(Path(spec.origin).parent.rglob("*.py"))
                source = hashlib.sha256(b"".join(file.read_bytes() for file in files))
                number = __import__(package).__version__
                return f"{number} with source {source.hexdigest()[:8]}"
            try:
                return metadata.version(package)
            except metadata.PackageNotFoundError:  # named otherwise than its module
                return "installed"

        return {package: version(package) for package in packages}

    return inspect


def expected(packages: Sequence[str]) -> dict[str, str]:
    """The versions of these packages that every node must have: those of this process."""
    return inspector()(packages)


def difference(node: str, found: Versions, ours: Versions) -> str:
    """What a node lacks, as a sentence; empty if nothing."""
    for name, version in ours.items():
        if found[name] != version:
            has = f"{name} {found[name]}" if found[name] else f"no {name}"
            advice = "install the same on every node"
            return f"node {node} has {has}, and here it is {version}: {advice}."
    return ""


def check(cluster: Cluster, ours: Versions) -> None:
    """Refuse a cluster with a node that lacks something, or with no node that has a core.

    Args:
        cluster: The cluster; one without nodes passes if an autoscaler may add some.
        ours: The versions that every node must have.
    """
    nodes = cluster.nodes()
    if not nodes and not cluster.grows():
        raise LabError(
            "no node of the Ray cluster has a core to run on, and no autoscaler would add one: "
            "start a node with `ray start --address HOST:PORT --num-cpus N`."
        )
    ray = imported()
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    look = ray.remote(num_cpus=0, max_retries=0, runtime_env=ONE_THREAD)(inspector())
    asked = {
        node: look.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False)
        ).remote(list(ours))
        for node in nodes
    }
    end = time.monotonic() + _ANSWER
    for node, answer in asked.items():
        try:
            found: Versions = ray.get(answer, timeout=max(0.1, end - time.monotonic()))
        except ray.exceptions.RayError as error:
            if node in cluster.nodes(afresh=True):
                why = f"runs no Python for this check ({type(error).__name__})"
                raise LabError(f"node {node.name} {why}: see its logs.") from None
        else:
            if sentence := difference(node.name, found, ours):
                raise LabError(sentence)
