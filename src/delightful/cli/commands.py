"""The commands and their options, as data: the parser and the shell completion are made from it.

Needs nothing but the light core.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from delightful.benchmarks import BENCHMARKS
from delightful.registry import METHODS

Options = Mapping[str, Mapping[str, Any]]  # by name, what `add_argument` takes


class Command(NamedTuple):
    """A command of `delightful`."""

    summary: str  # for --help, as is the example
    entry: str  # "module:function" of delightful.cli, which takes the parsed options
    example: str
    options: Options
    kinds: tuple[str, ...] = ()  # of names besides experiments: attributes of an Experiment


def _option(name: str, text: str, **settings: Any) -> Options:
    return {name: {"help": text, **settings}}


def _repeated(name: str, metavar: str, text: str, **settings: Any) -> Options:
    text = f"{text}; may be repeated"
    return _option(name, text, metavar=metavar, action="append", default=[], **settings)


def _names(what: str) -> Options:
    return _option("names", f"{what}; default: all", nargs="*", metavar="name")


_STORE = _option(
    "--store", "results folder (default: $DELIGHTFUL_STORE or results/)", metavar="FOLDER"
)
_STORE = {
    **_STORE,
    **_repeated(
        "--stored",
        "FOLDER",
        "read the finished runs of this results folder too; nothing is written there",
    ),
}
_JSON = _option("--json", "print JSON", action="store_true")
_OUT = _option("--out", "output folder (default: inside the store)", metavar="FOLDER")
_WORKERS = _option("--workers", "processes (default: one per core)", type=int, metavar="N")
_WHERE: Options = {
    **_WORKERS,
    **_option("--ray", "run on Ray: a cluster, or a local Ray", action="store_true"),
    **_option(
        "--ray-address",
        "HOST:PORT of the cluster's head, or auto (default: $RAY_ADDRESS; without it, a local Ray "
        "is started and stopped)",
        metavar="ADDRESS",
    ),
    **_option(
        "--dry-run",
        "print what it would cost with so many --workers, and run nothing",
        action="store_true",
    ),
}
_SEED = _option("--seed", "(default: 0)", type=int, default=0, metavar="N")
_IMPORT = _repeated(
    "--import",
    "MODULE",
    "import a module or a file of yours first, for the methods that it registers with "
    "@delightful.method. Results are stored under a method's name: give a changed method a new one",
    dest="imports",
)
_SET = _repeated(
    "--set", "FIELD=VALUE", "change a config field; `delightful list NAME` shows the fields"
)
_ACTORS: Options = {
    "--actors": {"type": int, "metavar": "N", "help": "tokens: actors on Ray (default: 10)"},
    "--ray-address": {
        "metavar": "HOST:PORT",
        "help": "tokens: of a Ray cluster (default: $RAY_ADDRESS, or a local Ray for the run)",
    },
    "--batch-prompts": {
        "type": int,
        "metavar": "N",
        "help": "tokens: prompts in an actor's batch, a divisor of those of a step (default: 1, as "
        "in the paper)",
    },
    "--queue": {
        "type": int,
        "metavar": "N",
        "help": "tokens: batches that wait for the learner; of more, the oldest is dropped "
        "(default: those of one step)",
    },
    "--in-flight": {
        "type": int,
        "metavar": "N",
        "help": "tokens: calls under way at each actor; 2 are faster and staler (default: 1)",
    },
    **_repeated(
        "--slow-actor", "ACTOR=SPEED", "tokens: slow an actor down; 3=0.5 is actor 3 at half speed"
    ),
    "--actor-lag": {
        "type": int,
        "metavar": "N",
        "help": "tokens: actors get parameters that are at least N versions old (default: 0)",
    },
    "--preset": {
        "metavar": "NAME",
        "help": "tokens: several config fields at once, before --set, such as author",
    },
}
_PLAN: Options = {
    **_STORE,
    "--scale": {
        "choices": ("smoke", "brief", "quick", "paper"),
        "help": "smoke: seconds, a test; brief: the least that shows a figure of the main text; "
        "quick: minutes; paper: the paper's seeds and steps "
        "(default: quick to run, the largest that the store can show to look at)",
    },
    "--seeds": {"type": int, "metavar": "N", "help": "seeds per config, instead of the scale's"},
    **_repeated(
        "--method",
        "SPEC",
        f"use this method instead of the sweep's: one of {', '.join(METHODS)} or of --import, "
        "with options as in dg:temperature=2",
    ),
    "--preset": {
        "metavar": "NAME",
        "help": "several config fields at once, before --set; `delightful list NAME` shows them",
    },
    **_SET,
    **_IMPORT,
}

COMMANDS = {
    "list": Command(
        "list experiments, sweeps, figures and claims; with a name, all about it",
        "listing:run",
        "delightful list bandit/curves",
        {**_names("experiments, sweeps, figures or claims"), **_STORE, **_IMPORT, **_JSON},
        ("sweeps", "figures", "claims"),
    ),
    "run": Command(
        "run what is missing",
        "experiments:run_sweeps",
        "delightful run bandit/training --scale smoke",
        {**_names("experiments or sweeps"), **_PLAN, **_WHERE},
        ("sweeps",),
    ),
    "figure": Command(
        "draw figures, running what they need",
        "experiments:draw_figures",
        "delightful figure bandit/curves --method pg --method dg:temperature=0.5",
        {**_names("figures or experiments"), **_PLAN, **_WHERE, **_OUT},
        ("figures",),
    ),
    "claims": Command(
        "check the paper's claims on what has been run",
        "experiments:show_claims",
        "delightful claims gate bandit/faster",
        {
            **_names("experiments or claims"),
            **_PLAN,
            "--explain": {"action": "store_true", "help": "print the rule that decides each claim"},
            **_JSON,
        },
        ("claims",),
    ),
    "report": Command(
        "write one offline HTML page with everything",
        "experiments:report",
        "delightful report gate bandit --out report",
        {**_names("experiments"), **_PLAN, **_OUT},
    ),
    "reproduce": Command(
        "run, draw, check and report, within a budget of time or at one scale",
        "reproduce:run",
        "delightful reproduce --budget 45m",
        {
            **_names("experiments"),
            "--budget": {
                "metavar": "TIME",
                "help": "such as 90s, 10m, 8h, or none (default: 10m): main-text figures first, "
                "then the appendices, then seeds for claims that are still open",
            },
            **_PLAN,
            **_WHERE,
            **_OUT,
        },
    ),
    "train": Command(
        "train one agent on a control task, or on Token Reversal with actors on Ray",
        "training:run",
        "delightful train cheetah:run --steps 1e6 --seed 1",
        {
            "task": {"help": "such as cheetah:run, gym:Pendulum-v1, or tokens:reverse-copy"},
            "--method": {
                "default": "dg",
                "metavar": "SPEC",
                "help": f"one of {', '.join(METHODS)} or of --import (default: dg)",
            },
            "--steps": {
                "help": "environment steps of control (default: 1e6), gradient steps of tokens "
                "(default: 1000)"
            },
            "--extend": {
                "action": "store_true",
                "help": "continue a finished run, to more --steps",
            },
            **_SEED,
            "--out": {"metavar": "FOLDER", "help": "folder of the run (default: one in runs/)"},
            "--render": {
                "metavar": "FILE",
                "help": "record an episode at the end: a video (.mp4) or pictures (.png)",
            },
            **_ACTORS,
            **_SET,
            **_IMPORT,
        },
    ),
    "play": Command(
        "play episodes of a trained policy, and record a video or pictures",
        "play:run",
        "delightful play runs/cheetah-run-dg-seed1/policy.safetensors --out cheetah.mp4",
        {
            "file": {"help": "policy.safetensors of a run of `delightful train`"},
            "--out": {
                "metavar": "FILE",
                "help": "record the episodes: a video (.mp4), or a row of pictures each (.png)",
            },
            "--episodes": {"type": int, "default": 1, "metavar": "N", "help": "(default: 1)"},
            **_SEED,
        },
    ),
    "export": Command(
        "write a sweep's runs as CSV or Parquet",
        "experiments:export",
        "delightful export bandit/training --out bandit.csv",
        {
            "sweep": {"help": "`delightful list` names them"},
            **_PLAN,
            "--out": {"required": True, "metavar": "FILE", "help": "ending in .csv or .parquet"},
        },
        ("sweeps",),
    ),
    "bench": Command(
        "run a benchmark: ratios measured side by side",
        "experiments:bench",
        "delightful bench estimator",
        {"benchmark": {"choices": BENCHMARKS, "help": "what to measure"}, **_JSON},
    ),
    "data": Command(
        "fetch and verify a data set",
        "experiments:fetch_data",
        "delightful data mnist",
        {"dataset": {"choices": ("mnist",), "help": "which"}},
    ),
    "doctor": Command(
        "show what is installed, what works, and what to do about the rest",
        "doctor:run",
        "delightful doctor",
        {**_STORE, **_JSON},
    ),
    "completion": Command(
        "print a script that completes commands, options and names in a shell",
        "completion:run",
        "delightful completion bash > ~/.local/share/bash-completion/completions/delightful",
        {"shell": {"choices": ("bash", "zsh", "fish"), "help": "which"}},
    ),
}
