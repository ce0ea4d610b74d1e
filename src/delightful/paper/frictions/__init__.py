"""Beyond the paper: stale and buggy actors, corrupted rewards, discoveries (arXiv 2603.20521)."""

from delightful.agents.tokens.frictions import FrictionTokensConfig
from delightful.lab.experiment import Experiment
from delightful.paper.frictions.claims import CLAIMS
from delightful.paper.frictions.config import FrictionMnistConfig
from delightful.paper.frictions.figures import FIGURES
from delightful.paper.frictions.sweep import SWEEPS

EXPERIMENT = Experiment(
    name="frictions",
    title="Frictions of distributed training",
    section="beyond the paper, arXiv 2603.20521",
    source="arXiv 2603.20521",
    configs=(FrictionTokensConfig, FrictionMnistConfig),
    sweeps=SWEEPS,
    figures=FIGURES,
    claims=CLAIMS,
    remarks=(
        "Claims are those of the abstract of Delightful Distributed Policy Gradient, version 2. "
        "Strengths, learning rates and thresholds are ours, and were settled before methods were "
        "compared in any run with bugs, corruption or discoveries; two short runs of DG alone, to "
        "time them, had been seen.",
        "Error is that of the policy's own answers, before any is replaced, against the true "
        "reward: on Token Reversal of the actors', which can be old, on MNIST of the learner's.",
        "A replaced answer has behaviour probability 1. DG's gate uses the learner's probabilities "
        "alone; ratios of PPO and importance-weighted PG are per token, the latter's at most 10.",
        "Learning rates: one grid for all methods on a task, and each method at its best.",
    ),
)
