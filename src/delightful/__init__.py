"""Delightful Policy Gradient: gate each policy-gradient term by w = σ(advantage · surprisal / η).

The estimator works on NumPy, JAX and PyTorch arrays alike. The experiments of the paper are run
with the `delightful` command (install `delightful-rl[lab]`).
"""

from delightful.diagnostics import Diagnosis, diagnose
from delightful.gate import GateConfig, delight, gate, surprisal
from delightful.losses import entropy_bonus, kl_penalty, policy_loss
from delightful.registry import METHODS, method
from delightful.validation import Batch, set_validation
from delightful.weights import score_weight

__version__ = "0.1.0"

__all__ = [
    "METHODS",
    "Batch",
    "Diagnosis",
    "GateConfig",
    "delight",
    "diagnose",
    "entropy_bonus",
    "gate",
    "kl_penalty",
    "method",
    "policy_loss",
    "score_weight",
    "set_validation",
    "surprisal",
]
