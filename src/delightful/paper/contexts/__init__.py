"""Section 4.2: many contexts. DG as a better direction, with exact gradients."""

from delightful.lab.experiment import Experiment
from delightful.paper.contexts import claims, config, figures, sweep

EXPERIMENT = Experiment(
    name="contexts",
    title="Multiple contexts: directional improvement",
    section="Section 4.2, Appendices C.4–C.6",
    configs=(config.ContextsConfig,),
    sweeps=sweep.SWEEPS,
    figures=figures.FIGURES,
    claims=claims.CLAIMS,
    remarks=(
        "CE is run as the score weight 1[U>0]/π(a), whose population gradient is the cross-entropy "
        "gradient exactly.",
    ),
)
