"""TEMPLATE: a two-armed bandit. Say here which section of the paper it is, or what it asks."""

from delightful.lab.experiment import Experiment
from delightful.paper.experiment.claims import CLAIMS
from delightful.paper.experiment.config import ArmsConfig
from delightful.paper.experiment.figures import FIGURES
from delightful.paper.experiment.sweep import SWEEPS

EXPERIMENT = Experiment(
    name="experiment",
    title="Two arms, the better one rarely tried at first",
    section="beyond the paper",
    configs=(ArmsConfig,),
    sweeps=SWEEPS,
    figures=FIGURES,
    claims=CLAIMS,
)
