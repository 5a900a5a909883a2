"""`roamcast node`: the node of a real host, in the foreground until SIGTERM or Ctrl-C."""
from __future__ import annotations

import argparse
from pathlib import Path

HELP = "run the node of this host on a real interface"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--id", type=int, required=True, help="of this node, unlike any other in the network")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--interface", metavar="NAME", help="whose radio is used, with its own addresses")
    where.add_argument("--bind", metavar="ADDRESS", help="the interface with this IPv4 address")
    parser.add_argument("--broadcast", metavar="ADDRESS", help="instead of the interface's broadcast address")
    parser.add_argument("--port", type=int, help="UDP port (default: 4710)")
    parser.add_argument("--control", type=Path, metavar="PATH",
                        help="socket for local programs (roamcast pub, roamcast sub, node.client)")
    parser.add_argument("--records", type=Path, metavar="FILE", help="append the node's records, JSON Lines")
    parser.add_argument("--journal", type=Path, metavar="FILE", help="append its inputs, for roamcast replay")
    parser.add_argument("--state", type=Path, metavar="FILE",
                        help="keeps the boot epoch (default: node-ID.json in /var/lib/roamcast or ~/.local/state)")
    parser.add_argument("--config", type=Path, metavar="FILE",
                        help="TOML with a table [node], as a scenario has; the whole network must agree on it")
    parser.add_argument("--began", type=float, metavar="UNIXTIME",
                        help="when the run began, from which records count their time (default: now)")


def run(args: argparse.Namespace) -> int:
    from cli.errors import UserError
    from node import daemon, schema

    if not 0 <= args.id < 2**32:
        raise UserError(f"--id {args.id}: an id lies within 0 and {2**32 - 1}")
    port = schema.header().port if args.port is None else args.port
    if not 0 < port < 65536:
        raise UserError(f"--port {port}: a port lies within 1 and 65535")
    for name in ("bind", "broadcast"):
        _check_address(f"--{name}", getattr(args, name))
    try:
        daemon.run(daemon.Settings(
            node=args.id, interface=args.interface, address=args.bind, broadcast=args.broadcast, port=port,
            control=args.control, records=args.records, state=args.state, journal=args.journal,
            began=args.began, config=_config(args.config)))
    except daemon.DaemonError as error:
        raise UserError(str(error)) from None
    return 0


def _check_address(option: str, text: str | None) -> None:
    import ipaddress

    from cli.errors import UserError

    try:
        if text is not None:
            ipaddress.IPv4Address(text)
    except ValueError:
        raise UserError(f"{option} {text}: not an IPv4 address such as 10.77.0.1") from None


def _config(path: Path | None):
    """The NodeConfig of the file's table [node]; keys that it leaves out keep their defaults."""
    import tomllib
    from difflib import get_close_matches

    from cli.errors import UserError
    from node.broker import FLUSHES, RECONCILERS, STRATEGIES, TREES, mismatch
    from node.config import NodeConfig

    if path is None:
        return NodeConfig()
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("node", {})
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # no UTF-8, no TOML
        raise UserError(f"{path}: not a TOML file: {error}") from None
    if not isinstance(table, dict):
        raise UserError(f"{path}: node: found {table!r}; [node] is a table")
    defaults = {name: getattr(NodeConfig(), name) for name in NodeConfig.__dataclass_fields__}
    choices = {"tree": list(TREES), "reconcile": list(RECONCILERS), "strategy": list(STRATEGIES),
               "forwarding": ["identity", "covering"], "flush": list(FLUSHES)}
    found = {}
    for key, value in table.items():
        if key not in defaults:
            near = get_close_matches(key, defaults, 1)
            raise UserError(f"{path}: node.{key}: no such key{f'; did you mean {near[0]}?' if near else ''}")
        wanted = type(defaults[key])
        if wanted is float and type(value) is int:
            value = float(value)
        if type(value) is not wanted:
            raise UserError(f"{path}: node.{key}: found {value!r}; it takes {_AN[wanted]}")
        if value not in choices.get(key, [value]):
            raise UserError(f"{path}: node.{key}: found {value!r}; it takes {' or '.join(choices[key])}")
        found[key] = value
    config = NodeConfig(**found)
    for key, what, cure in config.faults():
        raise UserError(f"{path}: node.{key}: found {what}; it takes {cure}")
    if (wrong := mismatch(config)) is not None:
        raise UserError(f"{path}: node.{wrong[0]}: found {wrong[1]}; choose another of the two")
    return config


_AN = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}
