"""Which host has which Ethernet address, as the medium's process knows it, and whose interface is down.

Hosts have the addresses of the plan until they give themselves others. One real device a port: the Ethernet address that a
port last heard is that host's on the air.
"""
from __future__ import annotations

from emulation import addresses


class Stations:
    """The interfaces of all hosts. `ports`: host -> interface of this machine, of those that are real devices."""

    def __init__(self, hosts: int, ports: dict[int, str]) -> None:
        self.ports = ports
        self.unplugged: set[int] = set()  # hosts whose interface is down or gone, by what was done there
        self.disturbed: set[int] = set()  # hosts whose interface ever was
        self._count = hosts
        self._given: dict[bytes, int] = {}  # addresses that hosts gave themselves -> host
        self._names: dict[int, str] = {}  # of interfaces that were renamed
        self._at: dict[int, bytes] = {}  # host -> the address of the device behind its port
        self._devices: dict[bytes, int] = {}
        self._gone: dict[int, float] = {}  # host -> s, when its port went down first

    def owner(self, address: bytes) -> int | None:
        """Whom a frame is for that begins with this address: a host, None for a group, NOBODY for a stranger."""
        to = addresses.host_of(address, self._count)
        if to is not None and self._given:
            to = self._given.get(bytes(address[:6]), addresses.NOBODY if to in self._given.values() else to)
        return self._devices.get(address[:6], to) if to == addresses.NOBODY else to

    def own(self, host: int) -> bytes:
        """The address of a host's interface."""
        return next((address for address, other in self._given.items() if other == host), addresses.mac(host))

    def name(self, host: int) -> str:
        """Of a host's interface."""
        return self._names.get(host, addresses.INTERFACE)

    def give(self, host: int, address: bytes) -> None:
        """A host has given itself an address; one that another has already stays with that one."""
        self._given = {known: other for known, other in self._given.items() if other != host}
        self._given.setdefault(address, host)

    def rename(self, host: int, name: str) -> None:
        self._names[host] = name

    def unplug(self, host: int) -> None:
        self.unplugged.add(host)
        self.disturbed.add(host)

    def plug(self, host: int) -> None:
        self.unplugged.discard(host)

    # ---- real devices -----------------------------------------------------------------------------
    def heard(self, host: int, source: bytes) -> None:
        """A frame came in at a host's port."""
        if self._at.get(host) != source and not source[0] & 1:
            self._devices.pop(self._at.get(host, b""), None)
            self._at[host] = source
            self._devices[source] = host

    def went_down(self, host: int, at: float) -> None:
        """A host's port is down, at `at` s of the run."""
        self._gone.setdefault(host, at)

    def told(self) -> dict[str, dict[str, object]]:
        """For the manifest: interface, device and trouble of each port."""
        return {str(host): {"interface": interface, "device": self._at[host].hex(":") if host in self._at else None,
                            "down_at": self._gone.get(host)} for host, interface in self.ports.items()}

    def disturbances(self) -> list[str]:
        """What went wrong with ports, in sentences."""
        return [f"host {host}'s interface {self.ports[host]} went down at {at:.1f} s" for host, at in self._gone.items()]
