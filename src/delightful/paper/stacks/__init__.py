"""Beyond the paper: DG's plug-ins in the frameworks that people train with."""

from delightful.lab.experiment import Experiment
from delightful.paper.stacks.config import StackConfig
from delightful.paper.stacks.figures import FIGURES
from delightful.paper.stacks.sweep import SWEEPS

EXPERIMENT = Experiment(
    name="stacks",
    title="DG inside training frameworks",
    section="beyond the paper",
    configs=(StackConfig,),
    sweeps=SWEEPS,
    figures=FIGURES,
)
