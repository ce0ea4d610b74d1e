"""Benchmarks: ratios measured side by side in one run."""

BENCHMARKS = ("estimator", "mnist", "tokens", "ray", "actor-learner", "plugins", "control")


def verdict(bound: str, value: float, held: bool) -> str:
    """Such as "goal at least 4: held", of the bound "goal at least" and the value 4."""
    return f"{bound} {value:g}: {'held' if held else 'missed'}"
