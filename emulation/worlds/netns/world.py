"""The world itself: a host's device is a TAP, whose other end the medium reads and writes."""
from __future__ import annotations

from emulation import addresses
from emulation.linux import kernel, netlink
from emulation.realtime.caller import RealTimeWorld
from emulation.realtime.plan import Fabric, Plan
from emulation.worlds.netns.taps import carrier


def check() -> None:
    """Raises kernel.Unsupported."""
    kernel.check_support(_open)


def make(plan: Plan, host: int) -> int:
    """A namespace for this process and the TAP of a host in it; its descriptor. Raises kernel.Unsupported and OSError."""
    kernel.make_network()
    tap = _open()
    netlink.set_up(host, plan.neighbors)
    return tap


def _open() -> int:
    return kernel.open_tap(addresses.INTERFACE, addresses.INDEX)


FABRIC = Fabric(check, make, carrier, compares=True)
WORLD = RealTimeWorld(FABRIC)
