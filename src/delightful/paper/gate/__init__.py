"""Sections 2 and 7, Appendix A: the gate itself, and the score weight of every method."""

from delightful.lab.experiment import Experiment
from delightful.paper.gate.claims import CLAIMS
from delightful.paper.gate.figures import FIGURES

EXPERIMENT = Experiment(
    name="gate",
    title="The gate and the score weights",
    section="Sections 2 and 7, Appendix A",
    figures=FIGURES,
    claims=CLAIMS,
    remarks=(
        "PMPO: samples with U = 0 are neither preferred nor dispreferred. AWR: weights are capped "
        "at 20, as in Peng et al. (2019).",
        "Figure 13: PPO and GRPO equal PG while the current policy is the one that acted, so they "
        "are shown for π_old = 0.5.",
    ),
)
