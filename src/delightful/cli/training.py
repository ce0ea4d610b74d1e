"""`delightful train`: which trainer a task has, and which options that trainer takes."""

from argparse import Namespace
from importlib import import_module
from types import ModuleType

from delightful.lab.errors import LabError

_TOKENS = (
    "actors",
    "ray_address",
    "slow_actor",
    "actor_lag",
    "batch_prompts",
    "queue",
    "in_flight",
    "preset",
)
_CONTROL = ("extend", "render")


def run(options: Namespace) -> None:
    """Train on a task of Token Reversal or of control."""
    trainer(options).run(options)


def trainer(options: Namespace) -> ModuleType:
    """The module that trains on the task; an option that it does not take is refused."""
    tokens = options.task.startswith("tokens:")
    for name in _CONTROL if tokens else _TOKENS:
        value = getattr(options, name)
        if value is not None and value is not False and value != []:  # 0 was given
            kind = "a control task" if tokens else "Token Reversal, such as tokens:reverse-copy"
            flag = f"--{name.replace('_', '-')}"
            raise LabError(f"{flag} is an option for {kind}, not for {options.task}.")
    if options.steps is None:
        options.steps = "1000" if tokens else "1e6"
    return import_module(f"delightful.cli.{'train_tokens' if tokens else 'train'}")
