"""The learner's loop without Ray: what it publishes, and how it counts beside another thread."""

import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from toy import ToyLearner

from delightful.agents.actor_learner import ActorLearnerConfig
from delightful.agents.actor_learner.checkpoints import Checkpoint
from delightful.agents.actor_learner.queue import Batch, BatchQueue, counter
from delightful.agents.actor_learner.training import _Loop


class InPlace(ToyLearner):
    """Its parameter is one array, which updates change."""

    def __init__(self):
        super().__init__()
        self.mean = np.zeros(2)

    def update(self, batches):  # noqa: ARG002
        self.mean += 1
        return {}


def published(loop, updates):
    """The parameters of each version that was published, as they are after all updates."""
    found = []
    actors = SimpleNamespace(
        publish=lambda version, parameters: found.append((version, parameters))
    )
    for _ in range(updates):
        loop._update(actors, [Batch(0, loop.result.step, {})])
    return {version: parameters["mean"].tolist() for version, parameters in found}


@pytest.mark.parametrize("lag", [0, 3])
def test_a_version_stays_what_it_was_if_the_learner_updates_in_place(lag, tmp_path):
    config = ActorLearnerConfig(actors=1, lag=lag)
    loop = _Loop(InPlace(), config, Checkpoint(tmp_path, {}), lambda _: False)
    loop.restore()
    found = published(loop, 6)
    assert found == {version: [version, version] for version in found}
    assert max(found) == 6 - lag
    nothing = counter(1)
    actors = SimpleNamespace(calls=[6], restarts=nothing, rejected=nothing)
    loop._write(actors)
    resumed = _Loop(InPlace(), config, Checkpoint(tmp_path, {}), lambda _: False)
    resumed.restore()
    found = published(resumed, 3)
    assert found == {version: [version, version] for version in found}
    assert max(found) == 9 - lag


@pytest.fixture
def hasty_threads():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
def test_the_loop_counts_while_the_other_thread_does():
    n, rounds = 100, 30
    loop = _Loop(ToyLearner(), ActorLearnerConfig(actors=n), None, lambda _: False)
    loop.restore()
    for _ in range(rounds):
        actors = SimpleNamespace(queue=BatchQueue(1, n), rejected=counter(n), restarts=counter(n))

        def serve(actors=actors):
            for actor in range(n):
                actors.queue.put(Batch(actor, 0, {}))
                actors.rejected[actor] += 1
                actors.restarts[actor] += 1

        thread = threading.Thread(target=serve)
        thread.start()
        while thread.is_alive():
            loop._count(actors)
        thread.join()
        loop._count(actors)
        assert loop.result.dropped.total() == n - 1  # the last one waits
        assert loop.result.rejected == loop.result.restarts == dict.fromkeys(range(n), 1)
