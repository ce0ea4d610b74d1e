"""Continuous control: environments, replay, Retrace, a learner, checkpoints, policy files."""
