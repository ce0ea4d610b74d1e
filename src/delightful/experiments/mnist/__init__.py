"""Section 3 and Appendix B: MNIST as a contextual bandit, where no label is ever seen."""

from delightful.experiments.mnist.config import MnistConfig
from delightful.experiments.mnist.sweep import SWEEPS
from delightful.lab.experiment import Experiment

EXPERIMENT = Experiment(
    name="mnist",
    title="MNIST diagnostic",
    section="Section 3, Appendix B",
    configs=(MnistConfig,),
    sweeps=SWEEPS,
)
