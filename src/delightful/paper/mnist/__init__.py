"""Section 3 and Appendix B: MNIST as a contextual bandit, where no label is ever seen."""

from delightful.lab.experiment import Experiment
from delightful.paper.mnist import claims, config, figures, sweep

EXPERIMENT = Experiment(
    name="mnist",
    title="MNIST diagnostic",
    section="Section 3, Appendix B",
    configs=(config.MnistConfig,),
    sweeps=sweep.SWEEPS,
    figures=figures.FIGURES,
    claims=claims.CLAIMS,
    remarks=(
        "Error is 1 − π(y|x), the probability that a sampled digit is wrong, on the training "
        "batches of the last 400 steps before each record; greedy and validation errors too.",
        "The standard test set serves as validation. Batches are sampled with replacement.",
        "At width 1 with two hidden layers most networks are dead from the start: only the last "
        "biases learn, the greedy answer is always the most frequent digit, and PG converges to it "
        "faster than DG. There DG has the higher sampled error and the same greedy error.",
        "Weights start normal with variance 1/inputs, biases at zero; pixels are scaled to [0, 1].",
    ),
)
