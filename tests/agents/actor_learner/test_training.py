"""Runs on a local Ray that is started once for this file."""

import json
import os
import threading
import time
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from toy import (
    BrokenActor,
    FlakyActor,
    ListActor,
    MortalActor,
    SloppyActor,
    ToyActor,
    ToyLearner,
    UselessActor,
)

from delightful.agents.actor_learner import ActorLearnerConfig, train, training
from delightful.agents.actor_learner.checkpoints import Checkpoint
from delightful.agents.actor_learner.worker import Sampled
from delightful.lab.cluster import Cluster, connected
from delightful.lab.errors import LabError
from delightful.lab.nodes import ALWAYS, expected

# A process for each actor takes seconds to start. The warnings are Ray's, of its sockets and files.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
SMALL = ActorLearnerConfig(actors=2, steps=20, batches=3, queue=3)


@pytest.fixture(scope="module", autouse=True)
def local_ray():
    pytest.importorskip("ray")
    paths = (str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))  # workers import the toy
        with connected("local", 2):
            yield


def changed(**changes):
    return ActorLearnerConfig(**{**SMALL.__dict__, **changes})


def test_it_learns_and_counts_the_staleness_of_every_batch_that_it_used():
    learner, records = ToyLearner(), []
    config = changed(steps=60)
    result = train(ToyActor, learner, config, watch=lambda p: records.append(p.record) or False)
    records = [record for record in records if record]
    assert abs(learner.mean - 1) < 0.5
    assert [record["step"] for record in records] == list(range(1, 61))
    found = result.summary()["staleness"]
    assert found["batches"] == config.steps * config.batches
    assert found["mean"] == pytest.approx(np.mean([r["staleness_mean"] for r in records]))
    assert found["max"] == max(record["staleness_max"] for record in records)
    assert sum(actor["batches"] for actor in found["actors"]) == found["batches"]
    assert json.loads(json.dumps(result.summary())) == result.summary()


def test_lagging_actors_are_as_stale_as_was_asked_and_a_slow_actor_sends_less():
    records = []
    config = changed(steps=60, lag=5, slow=((1, 0.02),))
    result = train(
        partial(MortalActor, "/nowhere"), ToyLearner(), config,
        watch=lambda p: records.append(p.record) or False,
    )  # fmt: skip
    late = [record for record in records if record and record["step"] > 40]
    assert min(record["staleness_mean"] for record in late) >= 5
    fast, slow = (counts.total() for counts in result.staleness.counts)
    assert fast > 2 * slow


def test_actors_that_find_the_queue_full_wait_until_the_learner_takes_a_batch():
    class Slow(ToyLearner):
        def update(self, batches):
            time.sleep(0.05)  # some fifty times as long as to sample
            return super().update(batches)

    config = changed(steps=40)
    result = train(ToyActor, Slow(), config)
    assert result.dropped.total() <= config.actors * config.steps
    assert result.staleness.summary()["mean"] <= 1.5


def test_with_two_calls_under_way_a_killed_actor_still_counts_once(tmp_path):
    path, learner = tmp_path / "kill", ToyLearner()
    path.touch()
    result = train(partial(MortalActor, str(path)), learner, changed(steps=60, in_flight=2))
    assert result.step == 60
    assert result.restarts.total() == 1
    assert abs(learner.mean - 1) < 0.7


def test_parameters_that_are_not_finite_end_the_run_and_are_not_kept(tmp_path):
    class Diverging(ToyLearner):
        def update(self, batches):
            found = super().update(batches)
            self.mean = np.float32(np.nan) if abs(self.mean) > 0.1 else self.mean
            return found

    with pytest.raises(LabError, match="learning diverged: mean has NaN or infinite values"):
        train(ToyActor, Diverging(), changed(steps=200), folder=tmp_path)
    assert not (tmp_path / "checkpoint.json").exists()  # none was due before


def test_a_killed_actor_is_started_again_and_counted(tmp_path):
    path, said = tmp_path / "kill", []
    path.touch()
    result = train(
        partial(MortalActor, str(path)), ToyLearner(), changed(steps=100_000), say=said.append,
        watch=lambda p: p.restarts == 1 and p.step >= 100,  # Ray may be slow to see the death
    )  # fmt: skip
    assert result.step >= 100
    assert result.restarts.total() == 1
    (actor,) = result.restarts
    (died,) = (one for one in said if one.startswith("actor"))
    assert died.startswith(f"actor {actor} died and was started again: ")


def test_an_actor_that_raises_is_started_again_and_if_it_goes_on_nothing_is_lost(tmp_path):
    path, said = tmp_path / "raise", []
    path.touch()
    result = train(partial(FlakyActor, str(path), 1), ToyLearner(), SMALL, say=said.append)
    assert result.step == 20
    assert result.restarts.total() == 1
    assert any("started again: RuntimeError('the room is on fire')" in one for one in said)
    other, folder = tmp_path / "always", tmp_path / "run"
    other.touch()  # not the same: a last call to the actors from before may still unlink that one
    make, late = partial(FlakyActor, str(other), 99), time.monotonic() + 60
    with pytest.raises(LabError, match="3 times in a row"):
        train(
            make, ToyLearner(), changed(steps=100_000), folder=folder,
            watch=lambda _: time.monotonic() > late,
        )  # fmt: skip
    arrays, facts = Checkpoint(folder, run_of(changed(steps=100_000))).read()
    assert facts["step"] >= 1
    assert arrays["learner/mean"] != 0


def test_a_batch_that_is_lost_with_its_node_is_counted_and_the_actor_goes_on(monkeypatch):
    import ray

    result_of, said, sampled = Future.result, [], []

    def lossy(call, *timeout):
        found = result_of(call, *timeout)
        if isinstance(found, Sampled):
            sampled.append(found)
            if len(sampled) in (4, 8):
                error = ray.exceptions.OwnerDiedError if len(sampled) == 8 else None
                raise (error or ray.exceptions.ObjectLostError)("00" * 28, None, "")
        return found

    monkeypatch.setattr(Future, "result", lossy)
    result = train(ToyActor, ToyLearner(), SMALL, say=said.append)
    assert result.step == 20
    assert result.rejected.total() == 2
    assert result.restarts.total() == 0
    first, second = said
    assert first.endswith(" was dropped: it was lost on the way (ObjectLostError)")
    assert second.endswith(" was dropped: it was lost on the way (OwnerDiedError)")


def test_a_ray_that_blocks_ends_the_run_with_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("delightful.agents.actor_learner.actors.SILENCE", 3.0)
    path, blocked = tmp_path / "raise", threading.Event()
    path.touch()
    make = partial(FlakyActor, str(path), 1)
    with pytest.raises(LabError, match="has not answered for 3 s"):
        train(make, ToyLearner(), changed(steps=100_000), say=lambda _: blocked.wait(60))
    blocked.set()


def test_more_actors_than_cores_take_turns_and_a_resumed_run_says_so(tmp_path):
    said = []
    config = changed(actors=3)
    train(
        ToyActor, ToyLearner(), config, folder=tmp_path, say=said.append, watch=lambda p: p.step > 4
    )
    assert said == ["3 actors on 2 cores: they take turns"]
    train(ToyActor, ToyLearner(), config, folder=tmp_path, say=said.append)
    assert said[1] == "going on after step 5"


def test_unusable_batches_are_dropped_counted_and_named():
    learner, said = ToyLearner(), []
    result = train(SloppyActor, learner, SMALL, say=said.append)
    assert result.step == 20
    assert result.rejected.total() > 0
    assert len(said) == len(set(said)) <= 4  # each kind once for each of 2 actors
    words = ("action has shape (7,), not (8,)", "reward has NaN")
    assert {word for word in words for one in said if word in one} == {*words}
    assert np.isfinite(learner.mean)


@pytest.mark.parametrize(
    ("actor", "said"),
    [
        (BrokenActor, r"actor \d failed 3 times in a row .*: RuntimeError\('no such room'\)\.$"),
        (ListActor, "100 batches in a row were unusable; the last: it has <class 'list'>, not"),
        (UselessActor, r"100 batches in a row were unusable; the last: it has action, not"),
    ],
)
def test_actors_that_never_send_a_batch_end_the_run_with_a_sentence(actor, said):
    with pytest.raises(LabError, match=said):
        train(actor, ToyLearner(), SMALL)


def test_a_stopped_run_goes_on_from_its_checkpoint(tmp_path):
    learner = ToyLearner()
    config = changed(lag=2)
    first = train(ToyActor, learner, config, folder=tmp_path, watch=lambda p: p.step == 7)
    assert first.step == 7
    arrays, facts = Checkpoint(tmp_path, run_of(config)).read()
    assert arrays["learner/mean"].tobytes() == np.float32(learner.mean).tobytes()
    assert facts["held"] == [5, 6, 7]
    assert sum(facts["calls"]) >= 7 * config.batches  # of whichever actors had started
    again = ToyLearner()
    second = train(ToyActor, again, config, folder=tmp_path)
    assert second.step == 20
    assert second.staleness.overall.total() == 60
    finished = ToyLearner()
    assert train(ToyActor, finished, config, folder=tmp_path).step == 20
    assert finished.mean == again.mean
    with pytest.raises(LabError, match="another run"):
        train(ToyActor, ToyLearner(), config, seed=1, folder=tmp_path)


def run_of(config):
    return {**config.__dict__, "slow": [], "seed": 0}


def test_a_node_with_another_version_is_named_before_an_actor_starts(monkeypatch):
    monkeypatch.setattr(training, "expected", lambda _: {"delightful": "0.0.1"})
    with pytest.raises(LabError, match=r"node \S+ .* has delightful .* here it is 0\.0\.1"):
        train(ToyActor, ToyLearner(), SMALL)


def test_an_actor_on_a_node_that_joined_with_another_jax_is_named(monkeypatch):
    ours = expected(ALWAYS) | {"jax": "0.0.1"}
    monkeypatch.setattr(training, "expected", lambda _: ours)
    monkeypatch.setattr(training, "check", lambda *_: None)  # as if the node had joined after it
    said = r"^node \S+ \([\d.]+\) has jax [\d.]+, and here it is 0\.0\.1: install the same on .*\.$"
    with pytest.raises(LabError, match=said):
        train(ToyActor, ToyLearner(), SMALL)


def test_a_cluster_that_has_no_cores_yet_is_refused(monkeypatch):
    monkeypatch.setattr(Cluster, "nodes", lambda *_, **__: [])
    monkeypatch.setattr(Cluster, "grows", lambda _: True)
    with pytest.raises(LabError, match="the Ray cluster has no cores yet"):
        train(ToyActor, ToyLearner(), SMALL)


def test_no_thread_is_left():
    before = threading.active_count()
    train(ToyActor, ToyLearner(), SMALL)
    assert threading.active_count() <= before
