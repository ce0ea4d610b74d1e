"""Several nodes: every actor has a place, and who lost it waits, says so and goes on."""

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from toy import MortalActor, ToyLearner

from delightful.agents.actor_learner import ActorLearnerConfig, placement, train
from delightful.agents.actor_learner.actors import ATTEMPTS, Actors
from delightful.agents.actor_learner.worker import checked
from delightful.lab.cluster import Node, connected, imported
from delightful.lab.errors import LabError
from delightful.lab.nodes import inspector

SMALL = {"object_store_memory": 80 * 2**20}
NODE = {"num_cpus": 1, **SMALL}
PATIENCE = 120.0  # seconds, after which a run ends and its test fails
ENDLESS = 10**6
MAKE = partial(MortalActor, "/nowhere")  # takes 10 ms for a batch


@pytest.fixture
def nodes():
    """A head that runs no actors, and two nodes of one core."""
    pytest.importorskip("ray")
    paths = (str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))  # workers import the toy
        imported()
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False, **SMALL}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        for _ in range(2):
            cluster.add_node(**NODE)
        yield cluster
        cluster.shutdown()


class Watch:
    """Which actors' batches are used; it stops a run when it is done, or has lasted too long."""

    def __init__(self, done):
        self.used, self.late, self._done = set(), False, done
        self._start = time.monotonic()

    def __call__(self, progress):
        found = progress.record or {}
        self.used |= {int(name[len("staleness/actor") :]) for name in found if "/actor" in name}
        self.late = time.monotonic() - self._start > PATIENCE
        return self.late or self._done(self)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's, of its sockets and files
def test_three_actors_on_two_nodes_of_one_core_all_sample(nodes):
    watch = Watch(lambda watch: watch.used == {0, 1, 2})
    config = ActorLearnerConfig(actors=3, steps=ENDLESS, batches=3, queue=3)
    train(MAKE, ToyLearner(), config, address=nodes.address, watch=watch)
    assert watch.used == {0, 1, 2}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_actor_whose_node_is_lost_waits_says_so_and_goes_on_with_the_next_node(
    nodes, monkeypatch
):
    monkeypatch.setattr(placement, "WAITING", 3.0)
    said, state = [], {"then": "lose a node"}

    def done(watch):
        waits = [one for one in said if "for a core" in one]
        if state["then"] == "lose a node" and watch.used == {0, 1}:
            nodes.remove_node(sorted(nodes.worker_nodes, key=id)[0], allow_graceful=False)
            state["then"] = "wait"
            said.clear()
        elif state["then"] == "wait" and waits:
            nodes.add_node(**NODE, wait=False)
            state["then"] = "go on"
            watch.used.clear()
        return state["then"] == "go on" and watch.used == {0, 1}

    watch = Watch(done)
    config = ActorLearnerConfig(actors=2, steps=ENDLESS, batches=2, queue=2)
    result = train(MAKE, ToyLearner(), config, address=nodes.address, watch=watch, say=said.append)
    assert not watch.late, said
    (waits,) = (one for one in said if "for a core" in one)
    (actor,) = result.restarts
    assert waits.startswith(f"actor {actor} waits for a core: no process in 3 s; ")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_run_without_any_core_ends_with_a_sentence(nodes, monkeypatch):
    monkeypatch.setattr(placement, "WAITING", 1.0)
    monkeypatch.setattr(placement, "NOBODY", 3.0)
    said = []
    with connected(nodes.address, 1):
        import ray

        class Other:
            def here(self):
                return True

        others = [ray.remote(Other).options(num_cpus=1).remote() for _ in range(2)]
        assert ray.get([other.here.remote() for other in others]) == [True, True]
        with pytest.raises(LabError, match=r"^no actor has got a core in 0 minutes: .*\.$"):
            train(MAKE, ToyLearner(), ActorLearnerConfig(actors=2), say=said.append)
    assert said == [
        "actors 0, 1 wait for a core: no process in 1 s; "
        "sampling starts once 1 core of a node is free"
    ]


ELSEWHERE = """
import sys
sys.modules["delightful"] = None  # as where it is not installed
from ray import cloudpickle
made = cloudpickle.loads(sys.stdin.buffer.read())([], 1.0)
print(made.here()["found"])
"""


def test_an_actor_says_what_is_missing_where_this_package_is():
    cloudpickle = pytest.importorskip("ray").cloudpickle
    sent = cloudpickle.dumps(checked(inspector(), {"delightful": "1.0"}))
    command = [sys.executable, "-c", ELSEWHERE]
    done = subprocess.run(command, input=sent, capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == ["{'delightful': ''}"]


def test_a_start_on_a_node_that_was_lost_is_no_attempt(monkeypatch):
    class Nodes:
        there = ("a", "b")

        def nodes(self, afresh=False):  # noqa: ARG002
            return [Node(name, name, 1) for name in self.there]

    def start(actors, actor):
        actors._nodes[actor] = {node.id for node in cluster.nodes()}

    monkeypatch.setattr(Actors, "_start", start)
    monkeypatch.setattr(Actors, "_kill", lambda *_: None)
    cluster, said = Nodes(), []
    actors = Actors(MortalActor, {}, ActorLearnerConfig(actors=1), 0, cluster, {}, said.append)
    for there in (("a", "b"), ("a", "c"), ("a", "d"), ("a", "e")):
        actors._start(0)
        cluster.there = there[:1]
        actors._start_again(0, "it never ran")
        cluster.there = there
    assert actors.restarts[0] == 4
    assert said == 4 * ["actor 0 died and was started again: a node was lost while it started"]
    actors._start(0)
    for _ in range(ATTEMPTS - 1):
        actors._start_again(0, "why not")
    with pytest.raises(LabError, match="actor 0 died 3 times in a row without a batch: why not"):
        actors._start_again(0, "why not")
