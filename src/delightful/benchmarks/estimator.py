"""What DG costs over plain PG: in a training step of a small Transformer, and in the loss alone.

Both sides are written as a user would: PG by hand in one line, DG as `policy_loss`. "The loss" is
everything after the network: log-softmax, picking the taken tokens, the loss, and its gradient in
the logits. From log-probabilities alone, eager PyTorch pays for each small operation and for the
check of the input. JAX runs on one thread, as in all of the lab; PyTorch on as many as it likes.
"""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from delightful.benchmarks import verdict
from delightful.benchmarks.timing import alternating, median, shown
from delightful.lab.errors import LabError, install
from delightful.losses import policy_loss

LIMITS = {"step": 1.02, "loss": 1.5, "log_prob": 1.6}  # what we hold ourselves to
SIZES = {"sequences": 32, "tokens": 32, "vocabulary": 256, "width": 128, "layers": 2, "heads": 4}
SEQUENCES, TOKENS, VOCABULARY, WIDTH, LAYERS, HEADS = SIZES.values()


def measure(step_rounds: int = 200, loss_rounds: int = 400) -> dict[str, Any]:
    """Every ratio with its 95% interval, and the sizes they were measured at."""
    for name in ("torch", "jax"):
        if find_spec(name) is None:
            raise LabError(
                f"bench estimator measures in torch and in jax, and {name} is missing: "
                f"{install('lab,torch')}."
            )
    figures: dict[str, Any] = {"sizes": dict(SIZES)}
    rounds = {"step": step_rounds, "loss": loss_rounds, "log_prob": loss_rounds}
    for name, sides in (("torch", _torch()), ("jax", _jax())):
        for part, (gated, plain) in sides.items():
            new, old = alternating(gated, plain, rounds[part], warm=3)
            figures |= median(f"{part}_ratio_{name}", new / old)
    return figures


def describe(figures: dict[str, Any]) -> str:
    sizes = ", ".join(f"{value} {name}" for name, value in figures["sizes"].items())
    lines = [f"DG over plain PG, time ratios with 95% intervals ({sizes})"]
    titles = {
        "step": "training step",
        "loss": "loss from logits",
        "log_prob": "loss from log-probs",
    }
    for part, title in titles.items():
        for name in ("torch", "jax"):
            ratio, limit = f"{part}_ratio_{name}", LIMITS[part]
            held = verdict("limit", limit, figures[ratio] <= limit)
            lines.append(f"  {title:<20} {name:<6}  {shown(figures, ratio, 3)}  {held}")
    return "\n".join(lines)


def _batch() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, VOCABULARY, (SEQUENCES, TOKENS + 1))
    return tokens, rng.normal(size=(SEQUENCES, TOKENS)).astype(np.float32)


def _plain(log_prob: Any, advantage: Any) -> Any:
    return -(advantage * log_prob).mean()


Sides = dict[str, tuple[Callable[[], object], Callable[[], object]]]  # DG and PG


def _torch() -> Sides:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, position = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(torch.zeros(TOKENS, WIDTH))
    layer = nn.TransformerEncoderLayer(
        WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True
    )
    layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    out = nn.Linear(WIDTH, VOCABULARY)
    causal = nn.Transformer.generate_square_subsequent_mask(TOKENS)
    # At learning rate 0 every step does the same work; learning one batch by heart makes
    # probabilities so small that arithmetic slows down, and the two sides would race in time.
    parameters = [position, *nn.ModuleList([embed, layers, out]).parameters()]
    optimiser = torch.optim.Adam(parameters, 0.0)
    tokens, advantage = map(torch.from_numpy, _batch())

    def network() -> Any:
        return out(layers(embed(tokens[:, :-1]) + position, mask=causal, is_causal=True))

    def picked(logits: Any) -> Any:
        return torch.log_softmax(logits, -1).gather(-1, tokens[:, 1:, None])[..., 0]

    logits = network().detach().requires_grad_()
    log_prob = picked(logits).detach().requires_grad_()

    def step(loss: Callable[..., Any]) -> None:
        optimiser.zero_grad()
        loss(picked(network()), advantage).backward()
        optimiser.step()

    def sides(run: Callable[[Callable[..., Any]], object]) -> Any:
        return tuple(partial(run, loss) for loss in (policy_loss, _plain))

    return {
        "step": sides(step),
        "loss": sides(lambda loss: loss(picked(logits), advantage).backward()),
        "log_prob": sides(lambda loss: loss(log_prob, advantage).backward()),
    }


def _jax() -> Sides:
    import jax
    import jax.numpy as jnp
    import optax

    from delightful.benchmarks.jax_transformer import initialise, transform

    tokens, advantage = map(jnp.asarray, _batch())
    inputs, taken = tokens[:, :-1], tokens[:, 1:, None]
    parameters = initialise(VOCABULARY, TOKENS, WIDTH, LAYERS)
    optimiser = optax.adam(3e-4)
    logits = transform(parameters, inputs, HEADS)

    def picked(logits: Any) -> Any:
        return jnp.take_along_axis(jax.nn.log_softmax(logits), taken, -1)[..., 0]

    def sides(build: Callable[[Callable[..., Any]], Callable[..., Any]], *arguments: Any) -> Any:
        compiled = [jax.jit(build(loss)) for loss in (policy_loss, _plain)]
        finished: Callable[..., object] = jax.block_until_ready
        return tuple(lambda f=f: finished(f(*arguments)) for f in compiled)

    def step(loss: Callable[..., Any]) -> Callable[..., Any]:
        def of(parameters: Any) -> Any:
            return loss(picked(transform(parameters, inputs, HEADS)), advantage)

        def update(parameters: Any, state: Any) -> Any:
            # With its value, which every training loop logs; without it, PG skips a forward pass.
            value, gradient = jax.value_and_grad(of)(parameters)
            updates, state = optimiser.update(gradient, state)
            return optax.apply_updates(parameters, updates), state, value

        return update

    return {
        "step": sides(step, parameters, optimiser.init(parameters)),
        "loss": sides(
            lambda loss: jax.value_and_grad(lambda x: loss(picked(x), advantage)), logits
        ),
        "log_prob": sides(
            lambda loss: jax.value_and_grad(lambda x: loss(x, advantage)), picked(logits)
        ),
    }
