"""Section 4.1: one context. DG as variance reduction in a symmetric K-armed bandit."""

from delightful.lab.experiment import Experiment
from delightful.paper.bandit.claims import CLAIMS
from delightful.paper.bandit.config import AlignmentConfig, BanditConfig
from delightful.paper.bandit.figures import FIGURES
from delightful.paper.bandit.sweep import SWEEPS

EXPERIMENT = Experiment(
    name="bandit",
    title="Single context: variance reduction",
    section="Section 4.1, Appendices C.1–C.3",
    configs=(BanditConfig, AlignmentConfig),
    sweeps=SWEEPS,
    figures=FIGURES,
    claims=CLAIMS,
    remarks=(
        "Misalignment 1 − cos(g, g*) is computed as ½‖g/‖g‖ − g*/‖g*‖‖², which keeps its digits "
        "when the cosine is near 1.",
    ),
)
