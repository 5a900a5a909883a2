"""`roamcast node`: the node of a real host, in the foreground until SIGTERM or Ctrl-C."""
from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from node.settings import File, Settings

AWAY = 1e8  # s, three years: what the time of a record may be (emulation/fieldlog.py)
HELP = "run the node of this host on a real interface"


class Arguments(argparse.Namespace):
    config: Path | None
    id: int | None
    interface: str | None
    bind: str | None
    family: str | None
    broadcast: str | None
    port: int | None
    control: Path | None
    records: Path | None
    journal: Path | None
    disk: int | None
    state: Path | None
    began: float | None
    unit: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE",
                        help="read all of this from FILE (node.toml), and from its table [node] the network's "
                             "settings, on which all nodes must agree; flags override it")
    parser.add_argument("--id", type=int, help="id of this node, unique in the network")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--interface", metavar="NAME", help="interface of the radio; the node uses its addresses")
    where.add_argument("--bind", metavar="ADDRESS", help="instead: the interface that has this IPv4 address")
    parser.add_argument("--family", choices=("ipv4", "ipv6"), help="address family (default: ipv4)")
    parser.add_argument("--broadcast", metavar="ADDRESS", help="broadcast address (default: the interface's)")
    parser.add_argument("--port", type=int, help="UDP port (default: 4710)")
    parser.add_argument("--control", type=Path, metavar="PATH",
                        help="serve local programs at this socket: roamcast pub, roamcast sub, `from roamcast import Client`")
    parser.add_argument("--records", type=Path, metavar="FILE", help="append the node's records to FILE, as JSON Lines")
    parser.add_argument("--journal", type=Path, metavar="FILE", help="append the node's inputs to FILE, for roamcast replay")
    parser.add_argument("--disk", type=int, metavar="MB",
                        help="keep records and journal together below MB; the oldest go first (default: no "
                             "limit)")
    parser.add_argument("--state", type=Path, metavar="FILE",
                        help="keep the boot epoch in FILE (default: node-ID.json in /var/lib/roamcast or "
                             "~/.local/state)")
    parser.add_argument("--began", type=float, metavar="UNIXTIME",
                        help="count the time of records from here (default: now)")
    parser.add_argument("--unit", action="store_true",
                        help="print a systemd unit for this --config and start nothing")


def run(args: Arguments) -> int:
    from cli.errors import UserError
    from node import settings

    try:
        file = None if args.config is None else settings.read(args.config)
        if args.unit:
            return _print_unit(args.config)
        chosen = _settings(args, file)
    except settings.SettingsError as error:
        raise UserError(str(error)) from None
    from node import daemon
    from node.shell import DaemonError, say

    for key, told in chosen.config.doubts():
        say(f"node.{key}: {told}")
    try:
        daemon.run(chosen)
    except DaemonError as error:
        raise UserError(str(error)) from None
    return 0


def _settings(args: Arguments, file: File | None) -> Settings:
    """The file's settings, and over them the flags'."""
    from cli.errors import UserError
    from node.settings import Settings, clash, fault
    from node.shell import say

    flags = {"node": args.id, "address": args.bind} | {key: getattr(args, key) for key in (
        "interface", "family", "broadcast", "port", "control", "records", "journal", "disk", "state", "began")}
    flags = {key: value for key, value in flags.items() if value is not None}
    plain = {("id" if key == "node" else key): value for key, value in flags.items() if not isinstance(value, Path)}
    if (wrong := fault(plain)) is not None:
        key = {"address": "bind"}.get(wrong[0], wrong[0])
        raise UserError(f"--{key} {wrong[1]}: it takes {wrong[2]}")
    if args.began is not None and not abs(time.time() - args.began) <= AWAY:
        raise UserError(f"--began {args.began:g}: it takes a unix time within three years of what the clock says now")
    keys: dict[str, Any] = {} if file is None else dict(file.keys)  # each was checked where it was read
    if "interface" in flags or "address" in flags:
        keys = {key: value for key, value in keys.items() if key not in ("interface", "address")}
    keys |= flags
    where = args.config or "roamcast node"
    if "node" not in keys:
        raise UserError(f"{where}: id: not found; say `id = 1` in node.toml or give --id 1, a different "
                        "one for each node")
    if "interface" not in keys and "address" not in keys:
        raise UserError(f"{where}: interface: not found; say `interface = \"wlan0\"` in node.toml or give "
                        "--interface wlan0")
    together: dict[str, Any] = {key: keys[key] for key in ("family", "address", "broadcast") if key in keys}
    if (wrong := fault(together)) is not None:
        raise UserError(f"{where}: {wrong[0]}: found {wrong[1]}; it takes {wrong[2]}")
    if (wrong := clash(keys)) is not None:
        raise UserError(f"{where}: {wrong[0]}: found {wrong[1]}; it takes {wrong[2]}")
    if file is not None and file.scenario:
        say(f"{args.config}: this is a scenario; only its table [node] counts here")
    return Settings(**keys) if file is None else Settings(**keys, config=file.config)


def _print_unit(config: Path | None) -> int:
    import sys
    from importlib import resources
    from string import Template

    import node
    from cli.errors import UserError

    if config is None:
        raise UserError("--unit: a unit needs the node's file; give it, as in roamcast node --config "
                        "/etc/roamcast/node.toml --unit")
    unit = Template(resources.files(node).joinpath("roamcast.service").read_text(encoding="utf-8"))
    installed, checkout = Path(sys.executable).parent / "roamcast", Path(__file__).parent.parent / "roamcast"
    command = installed if installed.is_file() else checkout
    print(unit.substitute(roamcast=command, config=config.resolve()), end="")
    return 0
