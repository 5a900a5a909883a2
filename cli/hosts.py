"""The hosts of a run directory by id or name, and the control sockets of a run that goes on."""
from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from topologies.naming import Naming


VARIABLE, DEFAULT = "ROAMCAST_CONTROL", "/run/roamcast/control.sock"  # where a node of this host is, unless said otherwise


def host_of(run: Path, text: str) -> int:
    """The id of the host of a run directory that the text means, by name or id. Raises UserError.

    Where names are numbers that are not their ids, a person is told which host it is.
    """
    from cli.errors import UserError
    from topologies.naming import NoHost

    naming = _naming(run)
    if naming is None:
        raise UserError(f"{run}: not a run directory; give the one that `roamcast run` made")
    try:
        host = naming.host(text)
    except NoHost as error:
        raise UserError(f"{run}: found {error}") from None
    if not 0 <= host < naming.count:
        raise UserError(f"{text}: no host of {run}; there are {naming.count}, ids 0 to {naming.count - 1}")
    if naming.twofold:
        print(f"roamcast: {text} is {naming.who(host)}: names go before ids", file=sys.stderr, flush=True)
    return host


def whose(file: Path) -> str:
    """A sentence on whose file of a run directory this is (captures/1.pcap), where its number is not the host's name;
    else nothing."""
    naming = _naming(file.parent.parent)
    if naming is None or not naming.muddled or not file.stem.isdecimal() or int(file.stem) >= naming.count:
        return ""
    return f"{file}: files go by ids: this is of {naming.who(int(file.stem))}"


def _naming(run: Path) -> Naming | None:
    """How the hosts of a run directory are named; None for what is no run directory."""
    import tomllib

    try:
        hosts = tomllib.loads((run / "scenario.toml").read_text(encoding="utf-8"))["hosts"]
    except (OSError, ValueError, KeyError, RecursionError):
        return None
    from topologies.fill import naming_of  # a host that has the node alone has no runs, and lacks this

    naming = naming_of(hosts if isinstance(hosts, dict) else {})
    return naming if naming.count else None


class AtNode(argparse.Namespace):
    """Which node is meant."""

    control: Path | None
    live: Path | None
    host: str | None


def add_node(parser: argparse.ArgumentParser) -> None:
    """Options that say which node is meant: --control PATH, --run RUN --host HOST, or neither for this host's own."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--control", type=Path, metavar="PATH",
                       help=f"control socket of the node (default: ${VARIABLE}, or else {DEFAULT})")
    where.add_argument("--run", type=Path, metavar="RUN", dest="live",
                       help="instead: directory of a live run, with --host")
    parser.add_argument("--host", metavar="HOST", help="host of that run, by id or name")


def unreachable(args: AtNode, error: Exception) -> str:
    """What a client's error says, and where the socket's name came from if nobody gave it."""
    if args.control is not None or args.live is not None or "no node listens here" not in str(error):
        return str(error)
    return f"{error}; or give --control, or set {VARIABLE}"


def control_of(args: AtNode) -> Path:
    """The control socket of the node that is meant. Raises UserError.

    A socket's path has at most 107 bytes: the process moves to the run directory.
    """
    from cli.errors import UserError

    if args.control is not None:
        if args.host is not None:
            raise UserError("--host goes with --run; --control names the node by itself")
        return args.control
    if args.live is None:
        if args.host is not None:
            raise UserError("--host goes with --run, the directory of a live run")
        return Path(os.environ.get(VARIABLE) or DEFAULT)
    from emulation.realtime.live import LiveRun, NotLive  # a host that has the node alone lacks this

    if args.host is None:
        raise UserError("--run needs --host, the host's id or name")
    try:
        LiveRun(args.live)
    except NotLive as error:
        raise UserError(str(error)) from None
    control = Path("control", f"{host_of(args.live, args.host)}.sock")
    os.chdir(args.live)
    return control
