"""Beyond the paper: DG's plug-ins in the frameworks that people train with."""

from delightful.experiments.stacks.config import StackConfig
from delightful.experiments.stacks.figures import FIGURES
from delightful.experiments.stacks.sweep import SWEEPS
from delightful.lab.experiment import Experiment

EXPERIMENT = Experiment(
    name="stacks",
    title="DG inside training frameworks",
    section="beyond the paper",
    configs=(StackConfig,),
    sweeps=SWEEPS,
    figures=FIGURES,
)
