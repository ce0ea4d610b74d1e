"""Continuous control: environments, replay, Retrace, a learner, checkpoints, policy files."""

from delightful.agents.control.environments.scaling import ActionScaling
from delightful.agents.control.policy import Policy, load_policy

__all__ = ["ActionScaling", "Policy", "load_policy"]
