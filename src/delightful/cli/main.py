"""The `delightful` command. Needs nothing but the light core until a command needs the lab.

argparse, not a CLI library: a light install must still be able to say what to install, and every
error must be one sentence.
"""

import argparse
import importlib
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from delightful import __version__
from delightful.cli.commands import COMMANDS
from delightful.lab import modules
from delightful.lab.compiling import use_threads
from delightful.lab.errors import LabError, install

_EXAMPLES = """\
examples:
  delightful list                           what there is to run, draw and check
  delightful figure bandit/curves           run and draw a figure, in a minute
  delightful reproduce gate bandit          check sections of the paper"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}.\n")


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter  # keeps the lines of examples
    parser = _Parser(
        prog="delightful",
        description="Delightful Policy Gradient: run, draw, check.",
        epilog=_EXAMPLES,
        formatter_class=raw,
    )
    parser.add_argument("--version", action="version", version=f"delightful {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(
            name,
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            epilog=f"example:\n  {command.example}",
            formatter_class=raw,
            allow_abbrev=False,
        )
        for option, settings in command.options.items():
            subparser.add_argument(option, **settings)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    for stream in (sys.stdout, sys.stderr):  # Greek letters, also into a file on Windows
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
    parser = _parser()
    options = parser.parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
    try:
        if options.command is None:
            parser.print_help()
        else:
            _run(options)
        sys.stdout.flush()
    except LabError as error:
        print(f"delightful: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("delightful"):
            raise
        needs = f"the delightful command needs the lab: {install('lab')}"
        print(f"delightful: {needs} (missing: {error.name}).", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("delightful: stopped; give the same command again to resume.", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _joined(arguments: Sequence[str]) -> list[str]:
    """The arguments with "--budget -3m" as "--budget=-3m": argparse takes the value for an option,
    and would say that there is none."""
    known = [item for command in COMMANDS.values() for item in command.options.items()]
    valued = {name for name, how in known if how.get("action") != "store_true"}
    found: list[str] = []
    for argument in arguments:
        if found and found[-1] in valued and re.match(r"-[\d.]", argument):
            found[-1] += f"={argument}"
        else:
            found.append(argument)
    return found


def _run(options: argparse.Namespace) -> None:
    use_threads(2 if _is_alone(options) else 1)
    for name in getattr(options, "imports", ()):
        modules.load(name)
    module, _, function = COMMANDS[options.command].entry.partition(":")
    getattr(importlib.import_module(f"delightful.cli.{module}"), function)(options)


def _is_alone(options: argparse.Namespace) -> bool:
    """Whether it is one control run, with two threads; sweeps have one process per core."""
    control = not getattr(options, "task", "").startswith("tokens:")
    return (options.command == "train" and control) or (
        getattr(options, "benchmark", None) == "control"
    )
