"""Section 4.1: one context. DG as variance reduction in a symmetric K-armed bandit."""

from delightful.experiments.bandit import claims, exact
from delightful.experiments.bandit.config import AlignmentConfig, BanditConfig
from delightful.experiments.bandit.figures import FIGURES
from delightful.experiments.bandit.sweep import SWEEPS
from delightful.lab.experiment import Experiment

EXPERIMENT = Experiment(
    name="bandit",
    title="Single context: variance reduction",
    section="Section 4.1, Appendices C.1–C.3",
    configs=(BanditConfig, AlignmentConfig),
    sweeps=SWEEPS,
    figures=FIGURES,
    claims=exact.claims + claims.claims,
    remarks=(
        "Misalignment 1 − cos(g, g*) is computed as ½‖g/‖g‖ − g*/‖g*‖‖², which keeps its digits "
        "when the cosine is near 1.",
    ),
)
