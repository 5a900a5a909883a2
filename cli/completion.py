"""`roamcast completion SHELL`: prints what a shell needs to complete this command's words (by shtab)."""
from __future__ import annotations

import argparse

HELP = "print the completion script for a shell"
SHELLS = ("bash", "zsh", "tcsh")
FILES = {"FILE", "SCENARIO", "STUDY", "RECORDS", "CAPTURE|RUN", "PATH", "capture", "journal", "source"}  # arguments by what their help calls them
FOLDERS = {"DIR", "RUN"}


class Arguments(argparse.Namespace):
    shell: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="shell to complete for")
    parser.epilog = ("bash: roamcast completion bash > ~/.local/share/bash-completion/completions/roamcast; "
                     "zsh: write it to a file _roamcast in a folder of $fpath")


def run(args: Arguments) -> int:
    import shtab

    print(shtab.complete(whole(), shell=args.shell))
    return 0


def whole() -> argparse.ArgumentParser:
    """One parser with all commands, which otherwise have one each; what is a file or a folder completes as such."""
    import importlib

    import shtab

    from cli.main import commands

    parser = argparse.ArgumentParser(prog="roamcast")
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    names = parser.add_subparsers(metavar="COMMAND")
    for name in commands():
        module = importlib.import_module(f"{__package__}.{name}")
        command = names.add_parser(name, help=module.HELP, description=module.HELP)
        module.add_arguments(command)
        for action in command._actions:
            words = {action.metavar, action.dest} if isinstance(action.metavar, str) else {action.dest}
            if words & FILES:
                vars(action)["complete"] = shtab.FILE  # where shtab looks
            elif words & FOLDERS:
                vars(action)["complete"] = shtab.DIRECTORY
    return parser
