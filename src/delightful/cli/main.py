"""The `delightful` command. Needs nothing but the light core until a command needs the lab.

argparse, not a CLI library: a light install must still be able to say what to install, and every
error must be one sentence.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from delightful.weights import METHODS

_LAB = "the delightful command needs the lab: pip install 'delightful-rl[lab]'"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}.\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="delightful", description="Delightful Policy Gradient: run, draw, check.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    def add(name: str, summary: str, *, names: str | None = None) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        if names:
            command.add_argument("names", nargs="*", metavar="name", help=names)
        return command

    listing = add("list", "experiments, sweeps, figures, claims, and what has been run")
    run = add("run", "run what is missing", names="experiments or sweeps; default: all")
    figure = add(
        "figure",
        "draw figures, running what they need",
        names="figures or experiments; default: all",
    )
    claims = add("claims", "the table of claims", names="experiments or claims; default: all")
    report = add(
        "report", "one offline HTML page with everything", names="experiments; default: all"
    )
    reproduce = add("reproduce", "run, draw, check and report", names="experiments; default: all")
    train = add("train", "train one agent on a task of control, and watch it")
    play = add("play", "play a trained policy's episodes, and film them")
    export = add("export", "a sweep's runs as CSV or Parquet", names="one sweep")
    bench = add(
        "bench",
        "benchmarks, as ratios measured side by side",
        names="estimator, mnist, tokens, plugins or control",
    )
    add("data", "fetch and verify a data set", names="mnist")

    _add_training(train)
    _add_playing(play)
    for command in (listing, run, figure, claims, report, reproduce, export):
        command.add_argument(
            "--store", help="results folder (default: $DELIGHTFUL_STORE or results/)"
        )
    for command in (run, figure, claims, report, reproduce, export):
        _add_plan(command)
    for command in (run, figure, reproduce):
        command.add_argument("--workers", type=int, help="processes (default: one per core)")
    for command in (listing, claims, bench):
        command.add_argument("--json", action="store_true", help="print JSON")
    for command, what in ((figure, "folder"), (report, "folder"), (reproduce, "folder")):
        command.add_argument("--out", help=f"output {what} (default: inside the store)")
    export.add_argument("--out", required=True, help="file to write, ending in .csv or .parquet")
    return parser


def _add_training(command: argparse.ArgumentParser) -> None:
    command.add_argument("task", help="such as cheetah:run, or gym:Pendulum-v1")
    command.add_argument(
        "--method", default="dg", metavar="SPEC", help=f"one of {', '.join(METHODS)} (default: dg)"
    )
    command.add_argument("--steps", default="1e6", help="environment steps (default: 1e6)")
    command.add_argument("--extend", action="store_true", help="train a run on, to more --steps")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--out", help="folder of the run (default: one in runs/)")
    command.add_argument("--render", metavar="FILE.mp4", help="film an episode at the end")
    _add_set(command)


def _add_playing(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", help="policy.safetensors of a run of `delightful train`")
    command.add_argument("--out", metavar="FILE.mp4", help="film the episodes")
    command.add_argument("--episodes", type=int, default=1, help="how many (default: 1)")
    command.add_argument("--seed", type=int, default=0)


def _add_plan(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--scale",
        choices=("smoke", "quick", "paper"),
        help="smoke: seconds, a test; quick: minutes; paper: the paper's seeds and steps "
        "(default: quick to run, the largest that the store can show to look at)",
    )
    command.add_argument("--seeds", type=int, help="seeds per config, instead of the scale's")
    command.add_argument(
        "--method",
        action="append",
        default=[],
        metavar="SPEC",
        help=f"instead of the sweep's methods; may be given again. One of {', '.join(METHODS)}, "
        "with options as in dg:temperature=2",
    )
    _add_set(command)


def _add_set(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="change a config field; may be given again. `delightful list` names the fields",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):  # Greek letters, also into a file on Windows
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except KeyboardInterrupt:
        print("delightful: stopped; give the same command again to go on.", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(options: argparse.Namespace) -> int:
    try:
        from delightful.cli import commands
        from delightful.lab.errors import LabError

        try:
            commands.run(options)
            sys.stdout.flush()
        except LabError as error:
            print(f"delightful: {error}", file=sys.stderr)
            return 2
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("delightful"):
            raise
        print(f"delightful: {_LAB} (missing: {error.name}).", file=sys.stderr)
        return 2
    return 0
