"""`roamcast radio`: sets an 802.11 interface up for a node, in ad hoc mode or in a mesh, and down again.

It says which commands of `ip` and `iw` it will run, and runs them; what they are is decided in node/wireless.py.
"""
from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from node.settings import File
    from node.wireless import Interface, Network, Step

from cli.arguments import number, whole

HELP = "put a radio into an ad hoc or mesh network, or restore it"
PATIENCE = 10.0  # s that one command may take


class Arguments(argparse.Namespace):
    what: str
    interface: str | None
    ibss: str | None
    mesh: str | None
    channel: int | None
    address: list[str]
    bssid: str | None
    country: str | None
    config: Path | None
    wait: float
    dry_run: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("up", "down"), help="join the network, or leave it and go back to managed mode")
    parser.add_argument("interface", nargs="?", help="interface of the radio, such as wlan0 (default: that of --config)")
    network = parser.add_mutually_exclusive_group()
    network.add_argument("--ibss", metavar="NAME", help="join or start this ad hoc network")
    network.add_argument("--mesh", metavar="NAME",
                         help="join or start this 802.11s mesh; the mesh does not forward")
    parser.add_argument("--channel", type=whole(1, 233, "a channel"), help="channel, the same at every node, such as 1")
    parser.add_argument("--address", metavar="ADDRESS/LENGTH", action="append", default=[],
                        help="give the interface this IPv4 or IPv6 address; without an IPv4 address it gets "
                             "a link-local one")
    parser.add_argument("--bssid",
                        help="BSSID of the ad hoc cell; Raspberry Pi radios ignore it (default: the cell's own)")
    parser.add_argument("--country", help="set this regulatory domain first, such as DE")
    parser.add_argument("--config", type=Path, metavar="FILE",
                        help="read all of this from the table [radio] of FILE (node.toml)")
    parser.add_argument("--wait", type=number(0.1, 3600, "seconds"), metavar="S", default=20.0,
                        help="give the radio S seconds to join (default: 20)")
    parser.add_argument("--dry-run", action="store_true", help="print the commands without running them")


def run(args: Arguments) -> int:
    from cli.errors import UserError
    from node.wireless import WirelessError

    try:
        name, network = _wanted(args)
        if args.what == "down":
            return _down(args, name)
        if network is None:
            print(f"{args.config}: no table [radio]: the interface stays as it is")
            return 0
        return _up(args, name, network)
    except WirelessError as error:
        raise UserError(str(error)) from None


def _wanted(args: Arguments) -> tuple[str, Network | None]:
    """The interface and, where one is given, the network."""
    from cli.errors import UserError
    from node import wireless

    file = None if args.config is None else _read(args.config)
    name = args.interface or (str(file.keys.get("interface", "")) if file else "")
    if not name:
        raise UserError("which interface? `iw dev` lists the radios of this host; give its name, such as wlan0")
    mode = "ibss" if args.ibss is not None else "mesh" if args.mesh is not None else None
    if mode is None:
        if file is None and args.what == "up":
            raise UserError("which network? give --ibss NAME or --mesh NAME, the same at every node, or "
                            "--config node.toml")
        return name, file.network if file else None
    if args.channel is None:
        raise UserError("which channel? give --channel, the same at every node, such as 1")
    network = wireless.Network(mode, getattr(args, mode), args.channel, tuple(args.address), args.bssid,
                               args.country)
    wireless.check(network)
    return name, network


def _read(path: Path) -> File:
    from cli.errors import UserError
    from node import settings

    try:
        return settings.read(path)
    except settings.SettingsError as error:
        raise UserError(str(error)) from None


def _up(args: Arguments, name: str, network: Network) -> int:
    from node import wireless

    interface = _interface(args, name)
    country = wireless.country_steps(network)
    _tell(country)
    if not args.dry_run:
        _do(country)
    _, radio = _ask("iw", "phy", f"phy{interface.phy}", "info")
    domain = _ask("iw", "reg", "get")[1]
    megahertz = wireless.frequency(network, wireless.phy(radio), wireless.country(domain))
    steps = wireless.up(interface, network, megahertz)
    _tell(steps)
    if args.dry_run:
        return 0
    _do(steps)
    _join(name, network, args.wait)
    return 0


def _down(args: Arguments, name: str) -> int:
    from node import wireless

    steps = wireless.down(_interface(args, name))
    _tell(steps)
    if not args.dry_run:
        _do(steps)
        print(f"{name} is in managed mode and off; `nmcli device set {name} managed yes` or a restart "
              "gives it back to an access point")
    return 0


def _interface(args: Arguments, name: str) -> Interface:
    """The interface, if it can be set up at all. Raises UserError or WirelessError."""
    import shutil
    import socket

    from cli.errors import UserError
    from node import wireless

    for program in ("iw", "ip"):
        if shutil.which(program) is None:
            raise UserError(f"{program} is not installed here; `apt install "
                            f"{'iw' if program == 'iw' else 'iproute2'}` brings it")
    found = wireless.interfaces(_ask("iw", "dev")[1])
    interface = wireless.choose(found, name, [other for _, other in socket.if_nameindex()])
    holder = wireless.manager(interface, found, *_managers())
    if holder is not None and args.what == "up":
        raise UserError(holder)
    if os.geteuid() != 0 and not args.dry_run:
        raise UserError(f"setting up {name} needs root: sudo roamcast radio {args.what} ..., or --dry-run to "
                        "see the commands")
    return interface


def _managers() -> tuple[str, list[list[str]], list[str]]:
    """What `wireless.manager` judges: NetworkManager's devices, running wpa_supplicants, their sockets."""
    import shutil

    nmcli = _ask("nmcli", "-t", "-f", "DEVICE,STATE", "device") if shutil.which("nmcli") else (1, "")
    supplicants = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # it ended
        if words[0].rpartition("/")[2] == "wpa_supplicant":
            supplicants.append(words[1:])
    try:
        sockets = os.listdir("/run/wpa_supplicant")
    except OSError:
        sockets = []
    return nmcli[1] if nmcli[0] == 0 else "", supplicants, sockets


def _tell(steps: Sequence[Step]) -> None:
    for step in steps:
        print(f"  {' '.join(step.command):<62} # {step.why}")


def _do(steps: Sequence[Step]) -> None:
    from cli.errors import UserError
    from node import wireless

    for step in steps:
        code, said = _ask(*step.command)
        if code and step.optional:
            print(f"  ({' '.join(step.command)}: {' '.join(said.split())}; done without)")
        elif code:
            raise UserError(wireless.explain(step, said))


def _join(name: str, network: Network, wait: float) -> None:
    """Wait until the radio is in its network. Raises UserError."""
    import time

    from cli.errors import UserError
    from node import wireless

    end = time.monotonic() + wait
    while not wireless.joined(network.mode, *(_ask("iw", "dev", name, what)[1] for what in ("link", "info"))):
        if time.monotonic() >= end:
            raise UserError(
                f"{name} has not joined {network.name} on channel {network.channel} in {wait:g} s; see what "
                "the kernel says "
                "(`dmesg | tail`): another program that scans, a driver without ad hoc mode, a blocked radio "
                "(`rfkill`)")
        time.sleep(0.2)
    addresses = [line.split()[3] for line in _ask("ip", "-o", "address", "show", "dev", name)[1].splitlines()]
    print(f"{name} is in {network.name} on channel {network.channel}: {', '.join(addresses)}")


def _ask(*command: str) -> tuple[int, str]:
    """Run a command: its exit code and what it said."""
    import subprocess

    from cli.errors import UserError

    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE,
                              env={**os.environ, "LC_ALL": "C"})
    except subprocess.TimeoutExpired:
        raise UserError(f"`{' '.join(command)}` did not end within {PATIENCE:g} s; perhaps the driver hangs: "
                        "see `dmesg | tail`, or restart the host") from None
    return done.returncode, done.stdout if done.returncode == 0 else done.stderr + done.stdout
