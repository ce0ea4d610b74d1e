"""Continuous control: environments, replay, Retrace, a learner, checkpoints, policy files."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from delightful.agents.control.environments.scaling import ActionScaling
    from delightful.agents.control.policy import Policy, load_policy

__all__ = ["ActionScaling", "Policy", "load_policy"]

_HOMES = {"ActionScaling": "environments.scaling", "Policy": "policy", "load_policy": "policy"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: importing the package stays cheap."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
