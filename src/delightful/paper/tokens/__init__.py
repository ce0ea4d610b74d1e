"""Section 5 and Appendix D: Token Reversal, a Transformer that learns by reward alone."""

from delightful.agents.tokens.config import TokensConfig
from delightful.lab.experiment import Experiment
from delightful.paper.tokens.claims import CLAIMS
from delightful.paper.tokens.figures import FIGURES
from delightful.paper.tokens.sweep import AUTHOR, SWEEPS

EXPERIMENT = Experiment(
    name="tokens",
    title="Token Reversal",
    section="Section 5, Appendix D",
    configs=(TokensConfig,),
    sweeps=SWEEPS,
    figures=FIGURES,
    claims=CLAIMS,
    presets={"author": AUTHOR},
    readings={
        "fresh actors": "every answer is sampled with the current policy",
        "actors up to 3 updates old": "answers are sampled with policies of the last 4 updates",
    },
    remarks=(
        "Error is the share of wrong tokens in the answers that are sampled for training, each "
        "batch before its update; regret is its average over training so far. A record is the "
        "mean over the batches since the last one.",
        "The paper's actors run in parallel with the learner, so that their parameters are old. "
        "The trainer simulates that: each prompt's actor samples with a policy whose age is "
        "uniform over the last D + 1 updates. Claims are judged with D = 3 and with fresh actors.",
        "PPO with fresh actors and one update per batch is REINFORCE: its ratios are 1. There "
        "it makes four passes over each batch, and claims are judged per gradient step and per "
        "episode. With stale actors every method makes one update per batch.",
        "KL is taken from the policy that acted. With fresh actors and one update per batch it has "
        "no gradient, so the maps of Figure 20 make four passes there for PMPO as well.",
        "Weights start normal with variance 1/inputs, token and position embeddings with variance "
        "1. With variance 1/width, the default of JAX's libraries, one of three DG runs of a trial "
        "settled on a wrong answer.",
    ),
)
