"""`delightful completion`: a script that completes the command line in a shell.

Commands, options and names are written into the script, so that completing starts no Python.
"""

import contextlib
from argparse import Namespace
from collections.abc import Iterator

from delightful.cli.commands import COMMANDS, Command
from delightful.registry import METHODS

_ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"


def run(options: Namespace) -> None:
    lines = _fish() if options.shell == "fish" else _bash()
    print(_ZSH if options.shell == "zsh" else "", *(f"{line}\n" for line in lines), sep="", end="")


def _bash() -> Iterator[str]:
    yield "_delightful() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" words=""'
    yield '  if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'    words="{" ".join(COMMANDS)} --help --version"'
    yield '  else case "${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in'
    valued = {o: _values(c, o) for c in COMMANDS.values() for o in c.options if _takes_value(c, o)}
    for option, values in valued.items():
        yield f'    *" {option}") words="{" ".join(values)}" ;;'
    yield '    *) case "${COMP_WORDS[1]} $word" in'
    for name, command in COMMANDS.items():
        flags = [*filter(_is_flag, command.options), "--help"]
        yield f'      "{name} -"*) words="{" ".join(flags)}" ;;'
        yield f'      "{name} "*) words="{" ".join(_names(command))}" ;;'
    yield "      esac ;;"
    yield "    esac"
    yield "  fi"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield "complete -o default -F _delightful delightful  # default: files"


def _fish() -> Iterator[str]:
    yield "complete -c delightful -n __fish_use_subcommand -f -l version -d 'print the version'"
    for name, command in COMMANDS.items():
        start = "complete -c delightful -n"
        yield f"{start} __fish_use_subcommand -f -a {name} -d {_quoted(command.summary)}"
        start += f" '__fish_seen_subcommand_from {name}'"
        yield f"{start} -f -a {_quoted(' '.join(_names(command)))}"
        for option in filter(_is_flag, command.options):
            takes = " -r -F" if _takes_value(command, option) else ""
            if values := " ".join(_values(command, option)):
                takes = f" -x -a {_quoted(values)}"
            yield f"{start} -l {option[2:]}{takes} -d {_quoted(command.options[option]['help'])}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _is_flag(option: str) -> bool:
    return option.startswith("--")


def _takes_value(command: Command, option: str) -> bool:
    return _is_flag(option) and command.options[option].get("action") != "store_true"


def _values(command: Command, option: str) -> tuple[str, ...]:
    return tuple(METHODS) if option == "--method" else command.options[option].get("choices", ())


def _names(command: Command) -> list[str]:
    """What its positional arguments may be; without the lab, no experiments."""
    words = [w for o in command.options if not _is_flag(o) for w in _values(command, o)]
    with contextlib.suppress(ModuleNotFoundError):
        from delightful.cli.options import known
        from delightful.paper import EXPERIMENTS

        words += EXPERIMENTS if "names" in command.options else ()
        words += [name for kind in command.kinds for name in known(kind)]
    return list(dict.fromkeys(words))
