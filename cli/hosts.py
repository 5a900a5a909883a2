"""The hosts of a run directory by id or name, and the control sockets of a run that goes on."""
from __future__ import annotations

import argparse
import os
from pathlib import Path


def host_of(run: Path, text: str) -> int:
    """The id of the host that the text means, by id or name. Raises UserError."""
    import tomllib

    from cli.errors import UserError

    try:
        hosts = tomllib.loads((run / "scenario.toml").read_text(encoding="utf-8"))["hosts"]
    except (OSError, ValueError, KeyError):
        raise UserError(f"{run}: not a run directory; give the one that `roamcast run` made") from None
    names = hosts.get("names") or [str(k) for k in range(hosts["count"])]
    if text in names:
        return names.index(text)
    if text.isdecimal() and int(text) < len(names):
        return int(text)
    raise UserError(f"{text}: no host of {run}; there are {len(names)}, {names[0]} to {names[-1]}")


def add_node(parser: argparse.ArgumentParser) -> None:
    """Options that say which node is meant: --control PATH, or --run RUN --host HOST."""
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--control", type=Path, metavar="PATH", help="the node's control socket")
    where.add_argument("--run", type=Path, metavar="RUN", dest="live",
                       help="or the directory of a run that goes on in world netns, with --host")
    parser.add_argument("--host", metavar="HOST", help="of that run, by id or name")


def control_of(args: argparse.Namespace) -> Path:
    """The control socket of the node that is meant. Raises UserError.

    A socket's path has at most 107 bytes: the process moves to the run directory.
    """
    from cli.errors import UserError

    if args.live is None:
        if args.host is not None:
            raise UserError("--host goes with --run; --control names the node by itself")
        return args.control
    from emulation.netns.live import LiveRun, NotLive  # a host that has the node alone lacks this

    if args.host is None:
        raise UserError("--run needs --host, the host's id or name")
    try:
        LiveRun(args.live)
    except NotLive as error:
        raise UserError(str(error)) from None
    control = Path("control", f"{host_of(args.live, args.host)}.sock")
    os.chdir(args.live)
    return control
