"""Section 6 and Appendix E: continuous control, with Retrace and replay."""

from delightful.agents.control.config import LEAST_WEIGHT, ControlConfig
from delightful.lab.experiment import Experiment
from delightful.paper.control.claims import CLAIMS
from delightful.paper.control.config import SacConfig
from delightful.paper.control.figures import FIGURES
from delightful.paper.control.sweep import SWEEPS

EXPERIMENT = Experiment(
    name="control",
    title="Continuous control",
    section="Section 6, Appendix E",
    configs=(ControlConfig, SacConfig),
    sweeps=SWEEPS,
    figures=FIGURES,
    claims=CLAIMS,
    readings={
        "replayed actions": "the actor's update scores the actions of the replay buffer",
        "fresh draws": "actions are sampled anew from the current policy at replayed states",
    },
    remarks=(
        "Replayed actions: U = Q − E_π Q by the target critic, which Retrace trains; PPO's ratio "
        "is to the policy that acted. Fresh draws: at every replayed state, actions are sampled "
        "from the current policy, U = Q − their mean, PPO's ratio is to the target policy. "
        "Actions are sampled in antithetic pairs, over which a constant in U adds no variance.",
        "A method's score term is divided by the root mean square of its weights, with fresh draws "
        f"about their mean at each state, at least {LEAST_WEIGHT:g}: so the KL term weighs the "
        "same against all.",
        "The first layer of both networks is normalised and goes through tanh, the second is ReLU. "
        "Without it the critic learned cheetah:run faster at first, and then lost it.",
        "Rewards are normalised by moving averages of their mean and of their square, and terminal "
        "values are shifted consistently with the mean-subtracted rewards. "
        "Only the critic's regression target changes.",
        "The policy's mean is bounded by tanh, and actions beyond their bounds are clipped by "
        "the environment and for the critic; the density is that of the unclipped action.",
        "A step that only begins an episode counts as a step: one in 1,001.",
        "The paper does not list its 28 tasks. Ours are dm_control's `suite.BENCHMARKING`; dog and "
        "quadruped, of which the paper mentions dog, are a sweep of their own.",
    ),
)
