"""Returns of whole episodes, and episodes in which the simulator gives NaN."""

import dataclasses

import numpy as np
import pytest

from delightful.agents.control import environments
from delightful.agents.control.rollout import episode_returns, evaluate, mean_return


def test_evaluation_is_of_whole_episodes(small, weights):
    found = evaluate(small, 0, 1, weights)
    assert evaluate(small, 0, 1, weights) == found
    assert found["dropped"] == 0
    assert 0 <= found["deterministic"] <= 30
    assert 0 <= found["stochastic"] <= 30
    assert found["deterministic"] != found["stochastic"]


@pytest.mark.filterwarnings("ignore:.*WARN")  # Gymnasium's, of the NaN
def test_an_episode_with_nan_is_left_out_of_an_evaluation(small):
    exploding = dataclasses.replace(small, task="gym:misbehaving:Exploding-v0")
    made = environments.make(exploding.task, 8, 0)
    total, finite = episode_returns(made, lambda seen: np.sign(0.5 - seen[:, :1]) / 4 + 0.15)
    assert 0 < finite.sum() < 8
    assert mean_return(total, finite) == total[finite].mean()
    assert mean_return(total, finite & False) == total.mean()  # nothing else is known
