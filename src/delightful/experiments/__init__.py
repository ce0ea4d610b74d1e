"""The experiments of the paper, by name. A new one is a folder and a line here."""

from delightful.experiments import bandit, contexts, gate, mnist, tokens
from delightful.lab.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT for module in (gate, bandit, contexts, mnist, tokens)
}
