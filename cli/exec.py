"""`roamcast exec`: run a command inside a host of a run that goes on, such as ping, tcpdump or a shell."""
from __future__ import annotations

import argparse
from pathlib import Path

HELP = "run a command inside a host of a live run"


class Arguments(argparse.Namespace):
    run: Path
    host: str
    command: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory")
    parser.add_argument("host", metavar="HOST", help="id or name of the host")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND",
                        help="command and its arguments (default: a shell)")


def run(args: Arguments) -> int:
    """The command's exit code; 2 when there is no such run or host."""
    import os

    from cli.errors import UserError
    from cli.hosts import host_of
    from emulation import addresses
    from emulation.realtime.live import LiveRun, NotLive

    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    try:
        live = LiveRun(args.run)
        host = host_of(args.run, args.host)
        return live.execute(host, command or [os.environ.get("SHELL", "/bin/sh")], {
            "ROAMCAST_HOST": str(host), "ROAMCAST_INTERFACE": addresses.INTERFACE,
            "ROAMCAST_ADDRESS": str(addresses.ipv4(host)), "ROAMCAST_RUN": str(args.run.resolve())})
    except NotLive as error:
        raise UserError(str(error)) from None
