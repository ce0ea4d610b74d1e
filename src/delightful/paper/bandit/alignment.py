"""How well a batch gradient points along g*_PG, at a frozen symmetric policy."""

import numpy as np

from delightful import theory
from delightful.lab.cells import Curves
from delightful.paper.bandit.config import AlignmentConfig
from delightful.paper.directions import misalignment, unit
from delightful.registry import parse_method
from delightful.weights import score_weight


def run(config: AlignmentConfig, seeds: np.ndarray) -> Curves:
    """Mean of 1 − cos(ḡ, g*_PG) over `batches` batches for each seed; the same batches by method.

    A sample's weight depends on its action alone, so a batch is its multinomial action counts and
    a batch of 10⁵ costs what a batch of 100 does.
    """
    method, options = parse_method(config.method)
    policy = theory.symmetric_policy(config.actions, config.error)
    advantage = np.eye(config.actions)[0] - config.baseline
    weight = score_weight(np.log(policy), advantage, method=method.name, **options)
    phi = theory.scores(policy)
    target = unit(np, phi[0])
    gaps = []
    for seed in seeds:
        counts = np.random.default_rng(seed).multinomial(config.batch, policy, config.batches)
        directions = unit(np, (counts * weight) @ phi)
        gaps.append(np.mean(misalignment(np, directions, target)))
    return {"step": np.zeros(1), "misalignment": np.array(gaps)[:, None]}
