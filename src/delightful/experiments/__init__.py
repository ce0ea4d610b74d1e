"""The experiments, by name: the paper's, and beyond it. A new one is a folder and a line here."""

from delightful.experiments import bandit, contexts, control, gate, mnist, stacks, tokens
from delightful.lab.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (gate, bandit, contexts, mnist, tokens, control, stacks)
}
