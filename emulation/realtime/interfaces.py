"""What befalls the interfaces of hosts from within: programs and people at a host may do with them what they like.

The medium follows what a radio would do, so that who is in range of whom stays the truth; what the kernel takes from an
interface that goes down it gets back when it is up again; and every change is reported in a sentence.
"""
from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from emulation import addresses
from emulation.linux import netlink, port
from emulation.linux.watch import Link, Watch
from emulation.realtime.fidelity import few
from emulation.realtime.plan import Plan

MTU = 1500
SETTLES = 0.1  # s that an address may be away without a word: the kernel tells its loss before that of the link
MOST_WRONG = 20  # sentences of all hosts
MOST_TOLD = 5  # sentences of one host: one that changes all the time hides none of the others


@dataclass(slots=True)
class _Story:
    """What there is to tell of one host's interface. Times are the run's, in s."""

    own: set[bytes]  # the addresses of the plan that it has
    link: Link | None  # as it was last; None when it is gone
    down: float | None = None  # since when it is
    disturbed: bool = False  # whether it ever was, or is gone
    away: dict[bytes, float] = field(default_factory=dict)  # addresses that it should have and has not: since when
    told: dict[str, None] = field(default_factory=dict)  # sentences, each once
    untold: int = 0  # further ones


class Interfaces:
    """The interfaces of all hosts of a run. `tell(host, what, record, **fields)` speaks to the medium, `now` is the run's
    time, `wanted(host)` whether the scenario has the host up."""

    def __init__(self, plan: Plan, tell: Callable[..., None], now: Callable[[], float],
                 wanted: Callable[[int], bool]) -> None:
        self._plan, self._tell, self._now, self._wanted = plan, tell, now, wanted
        self._watches: dict[int, Watch] = {}
        self._stories: dict[int, _Story] = {}
        self._wrong: list[str] = []
        self._lacking = ""

    def begin(self, descriptors: dict[int, int]) -> dict[Watch, int]:
        """Watch from now on, by the sockets of `open_watch`, a host each; what is to be read, and of which host."""
        for host, descriptor in descriptors.items():
            watch = self._watches[host] = Watch(descriptor)
            planned = {addresses.ipv4(host).packed, *(address.packed for address in _ipv6(host))}
            self._stories[host] = _Story(planned & watch.known, watch.link)
            if not planned <= watch.known and not self._plan.fabric.switches:
                self._lacking = "hosts have no IPv6 addresses: this system has no IPv6, or it is switched off"
        return {watch: host for host, watch in self._watches.items()}

    def heed(self, host: int) -> None:
        """Something has changed at a host."""
        watch, name = self._watches[host], self._name(host)
        for change in watch.read():
            if change.what in ("link", "gone", "missed"):
                self._link(host, watch.link)
            elif change.what == "other":
                self._say(host, f"host {host} got another interface {change.value} at {self._at()}: its traffic is "
                          "not recorded")
            elif change.what == "address":
                self._taken(host, change.value)
            elif change.what == "qdisc" and change.value is not None:
                self._say(host, f"{name} got the queueing discipline {change.value} at {self._at()}: what it drops or "
                          "delays is not recorded")
            elif change.what == "refused":
                self._say(host, f"{name} could not get all its planned addresses at {self._at()} ({os.strerror(change.value)})")
        self._look_for_addresses(host)

    def started(self, host: int) -> None:
        """The scenario has begun a life of the host, whose interface may have been put out of use meanwhile."""
        story = self._stories.get(host)
        if story is not None and story.link is not None and not story.link.up and not self._plan.fabric.switches:
            self._down(host)

    def disturbed(self, host: int) -> bool:
        """Whether the host's interface ever was down or gone, so that nothing could be sent there."""
        return host in self._stories and self._stories[host].disturbed

    def notes(self) -> list[str]:
        """What befell the interfaces, in sentences, when the run has ended."""
        for host, story in self._stories.items():
            if story.down is not None:
                self._say(host, f"{self._name(host)} was down from {story.down:.1f} s to the end")
            for address, since in sorted(story.away.items()):
                self._lost(host, address, since, None)
            story.away.clear()
        told = [self._lacking] if self._lacking else []
        for host, story in self._stories.items():
            told += [*story.told]
            told += [f"{self._name(host)}: and {story.untold} more such changes"] if story.untold else []
        return told

    def disturbances(self) -> list[str]:
        """What makes the records no account of the network any more. After `notes`."""
        return few(self._wrong, "such changes of interfaces", MOST_WRONG)

    # ---- what becomes of a link --------------------------------------------------------------------
    def _link(self, host: int, link: Link | None) -> None:
        story, name = self._stories[host], self._name(host)
        before, story.link = story.link, link
        if before is None:
            return  # another interface in its place, which is not on the air
        if link is None:
            self._gone(host, name)
            return
        if story.down is None and before.up and not link.up and self._wanted(host):
            self._down(host)
        elif story.down is not None and link.up:
            self._up(host)
        elif link.up and not before.up:  # the scenario has switched it on again
            self._give_back(host)
        if link.station != before.station:
            self._station(host, link)
        if link.mtu != before.mtu:
            more = f": frames above {port.LONGEST} bytes were refused" if link.mtu > MTU else ""
            self._say(host, f"{name} got the MTU {link.mtu} at {self._at()}{more}")
        if link.master and not before.master:
            self._say(host, f"{name} became part of another interface (a bridge, a bond) at {self._at()}, to which its frames "
                      "may go")
        if link.name != before.name:
            self._say(host, f"{name} was renamed {link.name} at {self._at()}")
            self._tell(host, "name", name=link.name)

    def _down(self, host: int) -> None:
        self._stories[host].down, self._stories[host].disturbed = self._now(), True
        self._record(host, "unplug", "down")

    def _up(self, host: int) -> None:
        """On again: the kernel has taken its IPv6 addresses, and the neighbors that were known for ever."""
        story = self._stories[host]
        self._say(host, f"{self._name(host)} was down from {story.down:.2f} to {self._now():.2f} s; then it got back "
                  "its addresses, but no other routes")
        story.down = None
        self._give_back(host)
        self._record(host, "plug", "up")

    def _give_back(self, host: int) -> None:
        watch, own = self._watches[host], self._stories[host].own
        for address, message in zip(_ipv6(host), netlink.ipv6_addresses(host, watch.index), strict=True):
            if address.packed in own:
                watch.send(message)
        if self._plan.neighbors:
            for other, story in self._stories.items():
                if story.link is not None:
                    watch.send(netlink.permanent_neighbor(other, story.link.station, watch.index))

    def _gone(self, host: int, name: str) -> None:
        story = self._stories[host]
        if story.down is not None and self._now() - story.down > SETTLES:  # before it is removed it is put down
            self._say(host, f"{name} was down from {story.down:.2f} s on")
        story.down, story.disturbed = None, True
        story.away.clear()
        self._say(host, f"{name} was removed at {self._at()}: the host had no radio from then on")
        self._record(host, "unplug", "gone")

    def _station(self, host: int, link: Link) -> None:
        """It has another Ethernet address, by which the medium finds it from now on."""
        station = link.station
        named, name = station.hex(":"), self._name(host)
        same = [other for other, story in self._stories.items()
                if other != host and story.link is not None and story.link.station == station]
        if same:
            self._wrong.append(f"{name} took the Ethernet address of host {same[0]}, {named}, at {self._at()}: frames to it "
                               "reached only one of the two")
        elif self._plan.fabric.switches:
            self._wrong.append(f"{name} got the Ethernet address {named} at {self._at()}, which the medium does not know")
        else:
            self._say(host, f"{name} got the Ethernet address {named} at {self._at()}, and was reached by it from then on")
        self._tell(host, "station", "host_interface", address=named,
                   state="up" if link.up else "down")
        if self._plan.neighbors:
            for other, story in self._stories.items():
                if other == host and link.up:
                    self._give_back(host)
                elif story.link is not None and story.link.up:  # the others are told when they are up again
                    watch = self._watches[other]
                    watch.send(netlink.permanent_neighbor(host, station, watch.index))

    # ---- addresses ---------------------------------------------------------------------------------
    def _look_for_addresses(self, host: int) -> None:
        story, watch = self._stories[host], self._watches[host]
        if watch.link is None or not watch.link.up:
            story.away.clear()  # the kernel takes them, and they are given back
            return
        missing = story.own - watch.known
        for address in missing - story.away.keys():
            story.away[address] = self._now()
        for address in story.away.keys() - missing:
            self._lost(host, address, story.away.pop(address), self._now())

    def _lost(self, host: int, address: bytes, since: float, until: float | None) -> None:
        """An address was away, or still is (`until` None), while the interface was up."""
        if (self._now() if until is None else until) - since < SETTLES:
            return
        sentence = (f"{self._name(host)} was without its address {ipaddress.ip_address(address)} from {since:.1f} s to "
                    + ("the end" if until is None else f"{until:.1f} s"))
        if len(address) == 4 and self._plan.scenario.hosts.runs_node(host):
            self._wrong.append(f"{sentence}: in range of others, and deaf")
        else:
            self._say(host, sentence)

    def _taken(self, host: int, address: bytes) -> None:
        """A host has given itself an address, or given one up; whether it is another's."""
        if address in self._watches[host].known and address not in self._stories[host].own:
            if (other := addresses.owner(address, self._plan.hosts)) not in (None, host):
                self._say(host, f"{self._name(host)} took {ipaddress.ip_address(address)}, the address of host {other}, at "
                          f"{self._at()}")

    # ---- telling -----------------------------------------------------------------------------------
    def _record(self, host: int, what: str, state: str) -> None:
        link = self._stories[host].link
        self._tell(host, what, "host_interface", state=state, address=None if link is None else link.station.hex(":"))

    def _say(self, host: int, sentence: str) -> None:
        story = self._stories[host]
        if len(story.told) < MOST_TOLD:
            story.told[sentence] = None
        else:
            story.untold += sentence not in story.told

    def _name(self, host: int) -> str:
        return f"host {host}'s {addresses.INTERFACE}"

    def _at(self) -> str:
        return f"{self._now():.1f} s"


def _ipv6(host: int) -> list[ipaddress.IPv6Address]:
    return [addresses.link_local(host), addresses.ipv6(host)]
