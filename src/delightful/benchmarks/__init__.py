"""Benchmarks: ratios measured side by side in one run."""

BENCHMARKS = ("estimator", "mnist", "tokens", "plugins", "control")
