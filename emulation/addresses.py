"""The address plan: what host h is called on layers 2 and 3. The same in every world that has frames.

    Ethernet  02:00 and h in four bytes (locally administered)
    IPv4      10.0.0.1 + h in 10.0.0.0/8, broadcast 10.255.255.255
    IPv6      fe80:: with the interface identifier of that Ethernet address (RFC 4291, appendix A),
              and fd72:6f61:6d63::1 + h in a /64
"""
from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

MAX_HOSTS = (1 << 24) - 2
INTERFACE = "wlan0"
INDEX = 77  # of the interface, in every namespace
IPV4_PREFIX = 8
IPV4_BROADCAST = IPv4Address("10.255.255.255")
IPV6_PREFIX = 64
_UNIQUE_LOCAL = int(IPv6Address("fd72:6f61:6d63::1"))
_MAC_HEAD = b"\x02\x00"
NOBODY = -1  # the host of an address that is none of the plan's

_FIRST = int(IPv4Address("10.0.0.1"))


def ipv4(host: int) -> IPv4Address:
    return IPv4Address(_FIRST + host)


def mac(host: int) -> bytes:
    return _MAC_HEAD + host.to_bytes(4, "big")


def link_local(host: int) -> IPv6Address:
    station = mac(host)
    identifier = bytes([station[0] ^ 2]) + station[1:3] + b"\xff\xfe" + station[3:]
    return IPv6Address(b"\xfe\x80" + bytes(6) + identifier)


def ipv6(host: int) -> IPv6Address:
    return IPv6Address(_UNIQUE_LOCAL + host)


def host_of(frame: bytes, hosts: int) -> int | None:
    """Whom an Ethernet frame is for: a host's id, None for a group address, NOBODY for a stranger's."""
    if frame[0] & 1:
        return None
    host = int.from_bytes(frame[2:6], "big")
    return host if frame[:2] == _MAC_HEAD and host < hosts else NOBODY


def owner(address: bytes, hosts: int) -> int | None:
    """The host to which the plan gives a packed IPv4 or IPv6 address; None for nobody's."""
    if len(address) == 4:
        host = int.from_bytes(address, "big") - int(ipv4(0))
    elif address[:2] == b"\xfe\x80":
        host = int.from_bytes(address[12:], "big") & 0xFFFFFF | address[10] << 24
        return host if host < hosts and address == link_local(host).packed else None
    else:
        host = int.from_bytes(address, "big") - _UNIQUE_LOCAL
    return host if 0 <= host < hosts else None
