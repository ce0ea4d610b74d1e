"""Values that make no run are refused in one sentence, before Ray is started."""

import pytest
from toy import ToyActor, ToyLearner

from delightful.agents.actor_learner import ActorLearnerConfig, train
from delightful.lab.errors import LabError


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"actors": 0}, "actors must be at least 1, got 0"),
        ({"queue": 0}, "queue must be at least 1, got 0"),
        ({"lag": -1}, "lag must be at least 0, got -1"),
        ({"slow": ((2, 0.5),)}, "a slow actor must be one of 0 to 1, got 2"),
        ({"slow": ((1, 0.0),)}, "the speed of actor 1 must be above 0, up to 1, got 0"),
        ({"slow": ((1, 0.5), (1, 0.2))}, "an actor has one speed"),
    ],
)
def test_values_that_make_no_run_are_refused(changes, said):
    with pytest.raises(LabError, match=said):
        train(ToyActor, ToyLearner(), ActorLearnerConfig(**{"actors": 2, **changes}))
