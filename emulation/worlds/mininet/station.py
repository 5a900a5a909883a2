"""A host of the world mininet: the process that enters a station's namespace, once its radio has joined the network."""
from __future__ import annotations

import socket

from emulation import addresses
from emulation.linux import kernel, netlink
from emulation.linux.sniffer import open_ring
from emulation.realtime.plan import Plan
from emulation.worlds.hwsim.radio import PATIENCE, await_carrier
from emulation.worlds.mininet import loop

BLOCKS = 8  # of 256 KiB, which a host's frames wait in
RETIRE, PORT_RETIRE = 50, 2  # ms that a frame waits there at most; where it has to go on to a device


def make(plan: Plan, host: int) -> int:
    """Enter the station and give it its addresses; a ring that is filled with its frames from now on.

    Raises NotJoined, SnifferError and OSError.
    """
    kernel.setns(plan.stations[host], kernel.CLONE_NEWNET)
    await_carrier(addresses.INTERFACE, PATIENCE)
    if host in plan.ports:
        loop.switch_on(plan.ports[host])
    else:
        address(plan, host)
    opened, _ = open_ring(addresses.INTERFACE, BLOCKS, PORT_RETIRE if host in plan.ports else RETIRE)
    opened.setblocking(False)
    return opened.detach()


def address(plan: Plan, host: int) -> None:
    """The addresses of the interface in this namespace, all but that of Ethernet, which it must have had when it joined."""
    index = socket.if_nametoindex(addresses.INTERFACE)
    neighbors = netlink.permanent_neighbors(plan.hosts, index) if plan.neighbors else b""
    netlink.set_up(host, neighbors, index, ethernet=False)
