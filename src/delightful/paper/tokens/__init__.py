"""Section 5 and Appendix D: Token Reversal, a Transformer that learns by reward alone."""

from delightful.agents.tokens.config import TokensConfig
from delightful.lab.experiment import Experiment
from delightful.paper.tokens.claims import CLAIMS
from delightful.paper.tokens.figures import FIGURES
from delightful.paper.tokens.sweep import SWEEPS

EXPERIMENT = Experiment(
    name="tokens",
    title="Token Reversal",
    section="Section 5, Appendix D",
    configs=(TokensConfig,),
    sweeps=SWEEPS,
    figures=FIGURES,
    claims=CLAIMS,
    remarks=(
        "Error is the share of wrong tokens in the answers that are sampled for training, each "
        "batch before its update; regret is its average over training so far. A record is the "
        "mean over the batches since the last one.",
        "PPO with fresh actors and one update per batch is REINFORCE, since its ratios are 1. Here "
        "it makes four passes over each batch. Claims compare per gradient step, as methods share "
        "the same 'compute budget' in the paper, and per episode, which gives PPO four times the "
        "updates; figures other than 8b show all methods per episode.",
        "KL is taken from the policy that acted. With fresh actors and one update per batch it has "
        "no gradient, so the maps of Figure 20 make four passes for PMPO as well.",
        "Weights start normal with variance 1/inputs, token and position embeddings with variance "
        "1. With variance 1/width, the default of JAX's libraries, one of three DG runs of a trial "
        "settled on a wrong answer.",
        "The paper's actors run in parallel; here a step's 10 prompts × 10 samples are one batch, "
        "and `delay` makes the actors' parameters older.",
    ),
)
