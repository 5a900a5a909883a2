"""What a field node is started with, and the file that says so: node.toml (docs/field.md has every key).

    id = 1                      [radio]                 [node]
    interface = "wlan0"         ibss = "manet"          as in a scenario
    records = "..."             channel = 1

A scenario may stand in its place; of that only the table [node] counts.
"""
from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from node import schema, wireless
from node.config import NodeConfig
from node.ids import NodeId
from node.schema.config import keys as known_keys

MEGABYTE = 10**6
MOST_BYTES = 12 << 20  # of the file, which may be a scenario
MOST = 2**63  # of a whole number; larger ones are no float
DISK = (1, 10**7)  # MB
FAMILIES = ("ipv4", "ipv6")
OWN = {"id": int, "interface": str, "address": str, "family": str, "broadcast": str, "port": int, "control": str,
       "records": str, "journal": str, "state": str, "disk": int}
PATHS = ("control", "records", "journal", "state")
RADIO = {"ibss": str, "mesh": str, "channel": int, "addresses": list, "bssid": str, "country": str}
_AN = {str: "a text", bool: "true or false", int: "a whole number", float: "a number", list: "a list of texts"}


class SettingsError(Exception):
    """Settings that cannot be; the text names the file, the key, what was found and what it takes."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a daemon is started with. One of `interface` and `address` is set."""

    node: NodeId
    interface: str | None = None  # by its name
    address: str | None = None  # or by its IPv4 address
    family: str = "ipv4"  # or "ipv6": link-local addresses, multicast to all nodes on the link
    broadcast: str | None = None  # another broadcast address than the interface's
    port: int = schema.header().port
    control: Path | None = None
    records: Path | None = None
    state: Path | None = None  # default: below the user's state folder
    journal: Path | None = None
    disk: int | None = None  # MB that records and journal may take together; default: what there is
    began: float | None = None  # unix time at which the run began; default: now
    config: NodeConfig = field(default_factory=NodeConfig)


@dataclass(frozen=True, slots=True)
class File:
    """What a file says: the keys of a node by their names in `Settings`, and its tables."""

    keys: Mapping[str, object]
    network: wireless.Network | None  # of [radio]
    config: NodeConfig
    scenario: bool = False  # a run's; of it only [node] counts


def read(path: Path) -> File:
    """The file's settings, each checked by itself. Raises SettingsError."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a pipe would wait, a device never end
            raise SettingsError(f"{path}: not a file; give the file that says how this node is set up")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise SettingsError(f"{path}: more than {MOST_BYTES >> 20} MiB; give the file that says how this node is set up")
        document = tomllib.loads(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except RecursionError:
        raise SettingsError(f"{path}: lists or tables inside each other too deeply; no key takes that") from None
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}; give the file that says how this node is set "
                            "up") from None
    except ValueError as error:  # no UTF-8, no TOML
        raise SettingsError(f"{path}: not a TOML file: {error}") from None
    config = _config(path, _table(path, document, "node"))
    if isinstance(document.get("run"), dict) or isinstance(document.get("hosts"), dict):
        if own := [key for key in OWN if key in document]:
            raise SettingsError(f"{path}: {own[0]}: found beside [run] or [hosts], as a scenario has them, of which only [node] "
                                "counts for a node; leave those tables out")
        return File({}, None, config, scenario=True)
    keys = {key: value for key, value in document.items() if key not in ("node", "radio")}
    _known(path, "", keys, OWN, ("node", "radio"))
    if (wrong := fault(keys)) is not None:
        raise SettingsError(f"{path}: {wrong[0]}: found {wrong[1]}; it takes {wrong[2]}")
    if "interface" in keys and "address" in keys:
        raise SettingsError(f"{path}: address: found beside interface; one of the two says which interface "
                            "is meant")
    keys = {("node" if key == "id" else key): Path(value) if key in PATHS else value for key, value in keys.items()}
    network = _network(path, _table(path, document, "radio")) if "radio" in document else None
    return File(keys, network, config)


def fault(keys: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """(key, what was found, what it takes) of the first value that cannot be, whether from a file or a flag."""
    ranges = {"id": (0, 2**32 - 1), "port": (1, 65535), "disk": DISK}
    for key, (low, high) in ranges.items():
        if keys.get(key) is not None and not low <= keys[key] <= high:
            return key, f"{keys[key]}", f"a number from {low} to {high}" + (" (MB)" if key == "disk" else "")
    for key in ("address", "broadcast"):
        try:
            if keys.get(key) is not None:
                ipaddress.IPv4Address(keys[key])
        except ValueError:
            return key, repr(keys[key]), "an IPv4 address such as 10.77.0.1"
    if keys.get("family", "ipv4") not in FAMILIES:
        return "family", repr(keys["family"]), "ipv4 or ipv6"
    if keys.get("family") == "ipv6":
        for key in ("address", "broadcast"):
            if keys.get(key) is not None:
                return key, repr(keys[key]), "no value with family ipv6, which uses link-local addresses and multicast"
    for key in ("interface", *PATHS):
        if keys.get(key) == "":
            return key, "''", "a name"
    for key in PATHS:
        if str(keys.get(key) or "").startswith(("~", "$")):
            return key, repr(keys[key]), "a path as it is, which no shell fills in"
    return None


def clash(keys: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """(key, what was found, what it takes) where two keys do not go together; of all keys, from file and flags."""
    paths: dict[Path, str] = {}
    for key in PATHS:
        if keys.get(key) is not None:
            if str(keys[key]).startswith("~") or "\0" in str(keys[key]):
                return key, repr(str(keys[key])), "a path written out; `~` is a word of the shell"
            path = Path(os.path.realpath(keys[key]))
            if path in paths:
                return key, str(keys[key]), f"another path than {paths[path]}"
            paths[path] = key
    if keys.get("disk") is not None and keys.get("records") is None and keys.get("journal") is None:
        return "disk", f"{keys['disk']}", "records or journal beside it, whose room it says"
    return None


def _table(path: Path, document: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = document.get(name, {})
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: {name}: found {table!r}; [{name}] is a table")
    return table


def _known(path: Path, place: str, found: Mapping[str, Any], keys: Mapping[str, Any],
           tables: tuple[str, ...] = ()) -> None:
    for key, value in found.items():
        if key not in keys:
            near = get_close_matches(key, [*keys, *tables], 1)
            raise SettingsError(f"{path}: {place}{key}: no such "
                                f"key{f'; did you mean {near[0]}?' if near else ''}")
        wanted = keys[key]
        if type(value) is not wanted or wanted is list and any(type(item) is not str for item in value):
            raise SettingsError(f"{path}: {place}{key}: found {value!r}; it takes {_AN[wanted]}")


def _network(path: Path, table: Mapping[str, Any]) -> wireless.Network:
    _known(path, "radio.", table, RADIO)
    modes = [mode for mode in wireless.MODES if mode in table]
    if len(modes) != 1:
        found = "both ibss and mesh" if modes else "neither ibss nor mesh"
        raise SettingsError(f"{path}: radio: found {found}; one of them names the network")
    if "channel" not in table:
        raise SettingsError(f"{path}: radio.channel: not found; every node of the network names the same "
                            "one, such as 1")
    network = wireless.Network(modes[0], table[modes[0]], table["channel"], tuple(table.get("addresses", ())),
                               table.get("bssid"), table.get("country"))
    try:
        wireless.check(network)
    except wireless.WirelessError as error:
        raise SettingsError(f"{path}: radio: {error}") from None
    return network


def _config(path: Path, table: Mapping[str, Any]) -> NodeConfig:
    """The NodeConfig of the table [node]; keys that it leaves out keep their defaults."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        key = known_keys().get(name)
        if key is None:
            near = get_close_matches(name, known_keys(), 1)
            raise SettingsError(f"{path}: node.{name}: no such "
                                f"key{f'; did you mean {near[0]}?' if near else ''}")
        if type(value) is int and abs(value) > MOST:
            raise SettingsError(f"{path}: node.{name}: found a whole number beyond 2**63; a smaller one")
        if key.python is float and type(value) is int:
            value = float(value)
        if type(value) is not key.python:
            raise SettingsError(f"{path}: node.{name}: found {value!r}; it takes {_AN[key.python]}")
        found[name] = value
    config = NodeConfig(**found)
    for name, what, cure in config.faults():
        raise SettingsError(f"{path}: node.{name}: found {what}; it takes {cure}")
    for name, what, cure in config.mismatches():
        raise SettingsError(f"{path}: node.{name}: found {what}; {cure}")
    return config
