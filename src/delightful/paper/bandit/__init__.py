"""Section 4.1: one context. DG as variance reduction in a symmetric K-armed bandit."""

from delightful.lab.experiment import Experiment
from delightful.paper.bandit import claims, config, figures, sweep

EXPERIMENT = Experiment(
    name="bandit",
    title="Single context: variance reduction",
    section="Section 4.1, Appendices C.1–C.3",
    configs=(config.BanditConfig, config.AlignmentConfig),
    sweeps=sweep.SWEEPS,
    figures=figures.FIGURES,
    claims=claims.CLAIMS,
    remarks=(
        "Misalignment 1 − cos(g, g*) is computed as ½‖g/‖g‖ − g*/‖g*‖‖², which keeps its digits "
        "when the cosine is near 1.",
    ),
)
