"""What an actor's process returns, without Ray around it."""

import numpy as np
import pytest
from toy import ToyActor

from delightful.agents.actor_learner import worker


def test_only_calls_that_fetch_parameters_say_how_long_it_took(monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "get", lambda reference: reference)
    monkeypatch.setattr(worker.os, "nice", lambda _: None)  # these belong to a process
    monkeypatch.setattr(worker, "use_threads", lambda _: None)
    parameters = [{"mean": np.float32(0)}]
    one = worker.Worker([ToyActor], 1.0)
    one.warm(parameters)
    fetching = [one.sample((0, 0, call), call // 2, parameters).fetching for call in range(6)]
    assert [seconds is None for seconds in fetching] == [False, True] * 3
