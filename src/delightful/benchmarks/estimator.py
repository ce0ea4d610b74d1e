"""What DG costs over plain PG: in a training step of a small Transformer, and in the loss alone.

Both sides are written as a user would: PG by hand in one line, DG as `policy_loss`. "The loss" is
everything after the network: log-softmax, picking the taken tokens, the loss, and its gradient in
the logits. From log-probabilities alone, eager PyTorch pays for each small operation and for the
check of the input. JAX runs on one thread, as in
all of the lab; PyTorch on as many as it likes.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from delightful.benchmarks.timing import alternating, median, shown
from delightful.lab.errors import LabError
from delightful.losses import policy_loss

LIMITS = {"step": 1.02, "loss": 1.5, "log_prob": 1.6}  # what we hold ourselves to
SEQUENCES, TOKENS, VOCABULARY, WIDTH, LAYERS, HEADS = 32, 32, 256, 128, 2, 4


def measure(step_rounds: int = 200, loss_rounds: int = 400) -> dict[str, Any]:
    """Every ratio with its 95% interval, and the sizes they were measured at."""
    for name in ("torch", "jax"):
        if find_spec(name) is None:
            raise LabError(
                f"bench estimator measures in torch and in jax, and {name} is missing: "
                "pip install '.[lab,torch]' in a clone of delightful."
            )
    sizes = {
        "sequences": SEQUENCES,
        "tokens": TOKENS,
        "vocabulary": VOCABULARY,
        "width": WIDTH,
        "layers": LAYERS,
        "heads": HEADS,
    }
    figures: dict[str, Any] = {"sizes": sizes}
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
            held = f"limit {limit:g}: {'held' if figures[ratio] <= limit else 'missed'}"
            lines.append(f"  {title:<20} {name:<6}  {shown(figures, ratio, 3)}  {held}")
    return "\n".join(lines)


def _batch() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, VOCABULARY, (SEQUENCES, TOKENS + 1))
    return tokens, rng.normal(size=(SEQUENCES, TOKENS)).astype(np.float32)


def _plain(log_prob: Any, advantage: Any) -> Any:
    return -(advantage * log_prob).mean()


Sides = dict[str, tuple[Callable[[], object], Callable[[], object]]]


def _torch() -> Sides:
    import torch

    from delightful.benchmarks.torch_transformer import Transformer

    torch.manual_seed(0)
    network = Transformer(VOCABULARY, TOKENS, WIDTH, LAYERS, HEADS)
    # At learning rate 0 every step does the same work; learning one batch by heart makes
    # probabilities so small that arithmetic slows down, and the two sides would race in time.
    optimiser = torch.optim.Adam(network.parameters(), 0.0)
    tokens, advantage = map(torch.from_numpy, _batch())
    inputs, taken = tokens[:, :-1], tokens[:, 1:, None]
    logits = network(inputs).detach().requires_grad_()
    log_prob: Any = torch.log_softmax(logits, -1).gather(-1, taken)[..., 0].detach()
    log_prob.requires_grad_()

    def from_logits(loss: Callable[..., Any], logits: Any) -> Any:
        return loss(torch.log_softmax(logits, -1).gather(-1, taken)[..., 0], advantage)

    def step(loss: Callable[..., Any]) -> None:
        optimiser.zero_grad()
        from_logits(loss, network(inputs)).backward()
        optimiser.step()

    return {
        "step": (lambda: step(policy_loss), lambda: step(_plain)),
        "loss": (
            lambda: from_logits(policy_loss, logits).backward(),
            lambda: from_logits(_plain, logits).backward(),
        ),
        "log_prob": (
            lambda: policy_loss(log_prob, advantage).backward(),
            lambda: _plain(log_prob, advantage).backward(),
        ),
    }


def _jax() -> Sides:
    import jax
    import jax.numpy as jnp
    import optax

    from delightful.benchmarks.jax_transformer import initialise, transform

    tokens, advantage = map(jnp.asarray, _batch())
    inputs, taken = tokens[:, :-1], tokens[:, 1:, None]

    def picked(logits: Any) -> Any:
        return jnp.take_along_axis(jax.nn.log_softmax(logits), taken, -1)[..., 0]

    parameters = initialise(jax.random.key(0), VOCABULARY, TOKENS, WIDTH, LAYERS)
    optimiser = optax.adam(3e-4)
    state = optimiser.init(parameters)
    logits = transform(parameters, inputs, HEADS)
    log_prob = picked(logits)

    def sides(build: Callable[[Callable[..., Any]], Callable[..., Any]], *arguments: Any) -> Any:
        compiled = [jax.jit(build(loss)) for loss in (policy_loss, _plain)]
        finished: Callable[..., object] = jax.block_until_ready
        return tuple(lambda f=f: finished(f(*arguments)) for f in compiled)

    def from_logits(loss: Callable[..., Any]) -> Callable[..., Any]:
        return lambda logits: loss(picked(logits), advantage)

    def step(loss: Callable[..., Any]) -> Callable[..., Any]:
        def update(parameters: Any, state: Any) -> Any:
            # With its value, which every training loop logs; without it, PG skips a forward pass.
            value, gradient = jax.value_and_grad(
                lambda p: from_logits(loss)(transform(p, inputs, HEADS))
            )(parameters)
            updates, state = optimiser.update(gradient, state)
            return optax.apply_updates(parameters, updates), state, value

        return update

    return {
        "step": sides(step, parameters, state),
        "loss": sides(lambda loss: jax.value_and_grad(from_logits(loss)), logits),
        "log_prob": sides(lambda loss: jax.value_and_grad(lambda x: loss(x, advantage)), log_prob),
    }
