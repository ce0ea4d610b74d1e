"""A distributed actor–learner on Ray: actors sample, a learner updates, staleness is measured."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from delightful.agents.actor_learner.config import ActorLearnerConfig
    from delightful.agents.actor_learner.protocols import Actor, Learner, Spec
    from delightful.agents.actor_learner.training import Result, train

__all__ = ["Actor", "ActorLearnerConfig", "Learner", "Result", "Spec", "train"]

_HOMES = {
    "Actor": "protocols",
    "ActorLearnerConfig": "config",
    "Learner": "protocols",
    "Result": "training",
    "Spec": "protocols",
    "train": "training",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: importing the package stays cheap."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
