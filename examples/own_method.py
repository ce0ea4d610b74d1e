"""A method of your own: one function and one line. It then trains wherever DG does.

    python examples/own_method.py
    delightful figure bandit/curves --import examples/own_method.py --method pg --method cubic

The second command runs the paper's bandit with it and draws the curves. A method is a score
weight ω: Δθ ∝ Σ ω ∇log π(a). Keyword arguments are its hyperparameters.

prints:
    pg               [ 0.1 -0.5  1. ]
    dg               [ 0.05  -0.207  0.909]
    cubic            [ 0.001 -0.125  1.   ]
    cubic:scale=0.5  [ 0.002 -0.25   2.   ]
"""

import numpy as np

import delightful as dg


@dg.method("cubic", "Cubic")
def cubic(batch: dg.Batch, scale: float = 1.0) -> np.ndarray:
    """ω = U³/scale: large advantages count for more."""
    return batch.advantage**3 / scale


if __name__ == "__main__":
    log_prob, advantage = np.log([0.9, 0.5, 0.1]), np.array([0.1, -0.5, 1.0])
    for method in ("pg", "dg", "cubic", "cubic:scale=0.5"):
        print(f"{method:<16}", dg.score_weight(log_prob, advantage, method=method).round(3))
