"""Section 4.2: many contexts. DG as a better direction, with exact gradients."""

from delightful.lab.experiment import Experiment
from delightful.paper.contexts.claims import CLAIMS
from delightful.paper.contexts.config import ContextsConfig
from delightful.paper.contexts.figures import FIGURES
from delightful.paper.contexts.sweep import SWEEPS

EXPERIMENT = Experiment(
    name="contexts",
    title="Multiple contexts: directional improvement",
    section="Section 4.2, Appendices C.4–C.6",
    configs=(ContextsConfig,),
    sweeps=SWEEPS,
    figures=FIGURES,
    claims=CLAIMS,
    remarks=(
        "CE is run as the score weight 1[U>0]/π(a), whose population gradient is the cross-entropy "
        "gradient exactly.",
    ),
)
