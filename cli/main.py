"""`roamcast`: finds the subcommand and hands over to its file.

A subcommand is a module of this package with what `Command` names.
Only the module that was asked for is imported, and what is heavy it imports inside run().
"""
from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from cli.arguments import Parser
from cli.errors import FAILED, INTERRUPTED, USAGE_ERROR, UserError
from cli.output import OutputError, checked, complain
from cli.terminal import guard

GROUPS = {  # of commands, as the help lists them
    "Run and compare": ("run", "check", "sweep", "ingest", "analyse", "compare", "plot", "serve", "runs"),
    "Look closer": ("replay", "dissect", "frames", "capture", "exec"),
    "On real hosts": ("node", "radio", "pub", "sub", "collect"),
    "Repeat the papers' evaluation": ("reproduce",),
    "Set up and develop": ("test", "completion"),
}
MOVED = {"measure": "run SCENARIO --measure", "overlay": "reproduce overlay"}  # former commands -> what does it now
MEANT = {  # words that people try -> the command that does it
    "list": "runs", "ls": "runs", "rm": "runs remove", "clean": "runs remove", "delete": "runs remove", "remove": "runs remove", "du": "runs size",
    "size": "runs size", "show": "runs show", "publish": "pub", "subscribe": "sub", "start": "run", "simulate": "run", "sim": "run",
    "validate": "check", "verify": "check", "lint": "check", "report": "analyse", "analyze": "analyse", "analysis": "analyse", "diff": "compare",
    "figure": "plot", "graph": "plot", "draw": "plot", "pcap": "dissect", "tshark": "dissect", "sniff": "capture", "record": "capture",
    "batch": "sweep", "study": "sweep", "import": "ingest", "shell": "exec", "broker": "node", "daemon": "node", "gather": "collect",
}
OURS = ("node", "mobility", "topologies", "emulation", "analysis", "cli", "roamcast")  # a module missing there is a fault


class Command(Protocol):
    """A subcommand's module."""

    HELP: str
    Arguments: type[argparse.Namespace]  # what its parser finds; with `others`, what that does not know goes there

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, args: Any) -> int:
        """`args` is of its Arguments. Returns the exit code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 where the output finds no room, 2 for what the user can put right, 130 for Ctrl-C."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    guard()
    try:
        with checked():
            return _dispatch(arguments)
    except UserError as error:
        for line in str(error).split("\n"):
            complain(f"roamcast: {line}")
        return USAGE_ERROR
    except OutputError as error:
        complain(f"roamcast: {error}")
        return FAILED
    except ModuleNotFoundError as error:  # a Pi has the node alone
        if error.name is None or error.name.partition(".")[0] in OURS:
            raise
        complain(f"roamcast: this command needs the Python package {error.name}, which is not installed here; "
                 "run ./roamcast in a checkout, or pip install '.[lab]' there")
        return USAGE_ERROR
    except ImportError as error:
        if type(error).__name__ != "OutsideError":  # of mobility/outside.py, which a host that has the node alone lacks
            raise
        complain(f"roamcast: {error}")
        return USAGE_ERROR
    except KeyboardInterrupt:
        complain("roamcast: interrupted")
        return INTERRUPTED
    except MemoryError:
        complain("roamcast: not enough memory; use fewer hosts, a shorter run or more memory")
        return FAILED
    except BrokenPipeError:  # `roamcast ... | head`
        return 0


def commands() -> list[str]:
    """The subcommands: the files of this package that say HELP, without importing them."""
    files = Path(__file__).parent.glob("*.py")
    return sorted(file.stem for file in files if "\nHELP = " in file.read_text(encoding="utf-8"))


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["help"] and len(arguments) > 1:
        arguments = [*arguments[1:], "--help"]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        _print_help()
        return 0
    if arguments[0] in ("-V", "--version"):
        from node import __version__

        print(f"roamcast {__version__}")
        return 0
    name, known = arguments[0], commands()
    if name in MOVED:
        raise UserError(f"{name}: is now `roamcast {MOVED[name]}`")
    if name not in known:
        raise UserError(f"{name}: no such command; {_nearest(name, known)}`roamcast --help` lists them all")
    command = _command(name)
    parser = Parser(f"roamcast {name}", command.HELP, passes_on="others" in command.Arguments.__annotations__)
    command.add_arguments(parser)
    args, others = parser.parse_known_args(arguments[1:], command.Arguments())
    args.others = others
    return command.run(args)


def _command(name: str) -> Command:
    return cast(Command, importlib.import_module(f"{__package__}.{name}"))


def _nearest(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    if name.lower() in MEANT:
        return f"did you mean {MEANT[name.lower()]}? "
    near = get_close_matches(name, known, 1, 0.5)
    return f"did you mean {near[0]}? " if near else ""


def _print_help() -> None:
    print("usage: roamcast COMMAND ...\n\nEmulate publish-subscribe on mobile ad hoc networks, from simulation to real radios.")
    for title, names in GROUPS.items():
        print(f"\n{title}:")
        for name in names:
            print(f"  {name:<10}  {_command(name).HELP}")
    print("\n`roamcast help COMMAND` explains one of them; `roamcast --version` prints the version.")


if __name__ == "__main__":
    sys.exit(main())
