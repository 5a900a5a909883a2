"""One host's radio: made by mac80211_hwsim in the host's namespace, set to ad hoc mode, joined to the network.

Each radio has hwsim's port of its own namespace for itself, so that radios of runs side by side never meet, and the
kernel takes the radio away with the namespace. Commands as in drivers/net/wireless/mac80211_hwsim.h and
include/uapi/linux/nl80211.h of the kernel.
"""
from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import time
from pathlib import Path

from emulation import addresses
from emulation.linux import genetlink, kernel, netlink
from emulation.linux.netlink import attribute
from emulation.realtime.plan import Plan
from emulation.worlds.hwsim import frames
from topologies.radio import LogDistanceRadio, UnitDiskRadio

MODULE = "mac80211_hwsim"
HWSIM, NL80211 = "MAC80211_HWSIM", "nl80211"  # families of generic netlink
REGISTER, NEW_RADIO = 1, 4
CHANNELS, CUSTOM_REGULATION, PERMANENT_ADDRESS = 9, 12, 22
SET_INTERFACE, JOIN_IBSS = 6, 43
IFINDEX, IFTYPE, MAC, BEACON_INTERVAL, BASIC_RATES, FREQUENCY, SSID, FIXED, GROUP_RATE = 3, 5, 6, 12, 36, 38, 52, 60, 107
ADHOC = 1
NETWORK = b"roamcast"
BEACONS = 1000  # units of 1.024 ms: in ad hoc mode each radio of hwsim sends all of its own
PORT = 1 << 30  # no process id: hwsim lets go of its medium when any netlink socket of that address is closed
RECEIVE_BUFFER = 1 << 22  # bytes: some 2,000 frames that the medium has not read yet
SO_RCVBUFFORCE = 33
SIOCETHTOOL, GSTRINGS, GSTATS, GSSET_INFO, STATISTICS, NAME_BYTES = 0x8946, 0x1B, 0x1D, 0x37, 1, 32
SIOCGIFFLAGS, IFF_RUNNING = 0x8913, 0x40  # netdevice(7)
PATIENCE, LOOK = 20.0, 0.02  # s for a radio to join, between two looks


class NotJoined(Exception):
    """A radio that is not part of the network; str() is one sentence."""


def station(space: int) -> bytes:
    """The address by which hwsim knows the radio of a namespace, given by its descriptor: no two alive have one."""
    return b"\x06\x00" + os.fstat(space).st_ino.to_bytes(4, "big")


def make(plan: Plan, host: int) -> int:
    """A namespace for this process and the radio of a host in it; the descriptor at which its frames come and go.

    Raises NotJoined, kernel.Unsupported and OSError.
    """
    kernel.make_network()
    port = attach()
    index = socket.if_nametoindex(addresses.INTERFACE)
    with genetlink.open_socket() as control:
        kind = genetlink.family(control, NL80211)
        genetlink.ask(control, kind, SET_INTERFACE, _u32(IFINDEX, index) + _u32(IFTYPE, ADHOC))
        neighbors = netlink.permanent_neighbors(plan.hosts, index) if plan.neighbors else b""
        netlink.set_up(host, neighbors, index)
        genetlink.ask(control, kind, JOIN_IBSS, joining(index, plan.scenario.radio))
    await_carrier(addresses.INTERFACE, PATIENCE)
    port.setblocking(False)
    return port.detach()


def attach() -> socket.socket:
    """A new radio in this namespace and hwsim's port for it. Raises kernel.Unsupported."""
    try:
        port = genetlink.open_socket(PORT)
        kind = genetlink.family(port, HWSIM)
        with open("/proc/self/ns/net") as space:
            named = attribute(PERMANENT_ADDRESS, station(space.fileno()))
        genetlink.ask(port, kind, NEW_RADIO, named + _u32(CHANNELS, 1) + _u32(CUSTOM_REGULATION, 0))
        genetlink.ask(port, kind, REGISTER)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            raise kernel.Unsupported(f"{MODULE} has radios with several channels and then takes no medium; reload it "
                                     f"as root (modprobe -r {MODULE}; modprobe {MODULE} radios=0)") from None
        raise kernel.Unsupported(f"{MODULE} cannot create a radio ({error.strerror}); use --world netns") from None
    try:
        port.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
    except PermissionError:  # for an ordinary user what net.core.rmem_max allows
        port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    return port


def joining(index: int, radio: UnitDiskRadio | LogDistanceRadio) -> bytes:
    """The attributes of JOIN_IBSS for the interface of that index and the scenario's table [radio]."""
    base, data = (frames.RATES[frames.rate_index(rate)] for rate in (radio.base_rate, radio.data_rate))
    basic = bytes(rate // 500_000 for rate in sorted({base, data}))
    return (_u32(IFINDEX, index) + attribute(SSID, NETWORK) + _u32(FREQUENCY, frames.FREQUENCY) + attribute(FIXED, b"")
            + attribute(MAC, frames.CELL) + _u32(BEACON_INTERVAL, BEACONS) + attribute(BASIC_RATES, basic)
            + _u32(GROUP_RATE, base // 100_000))


def await_carrier(interface: str, patience: float) -> None:
    """Wait until an interface of this namespace is part of a network. Raises NotJoined after `patience` s."""
    deadline = time.monotonic() + patience
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        while True:
            answer = fcntl.ioctl(probe, SIOCGIFFLAGS, struct.pack("16sH22x", interface.encode(), 0))
            if struct.unpack_from("=H", answer, 16)[0] & IFF_RUNNING:
                return
            if time.monotonic() > deadline:
                raise NotJoined(f"its radio {interface} did not join the ad hoc network in {patience:g} s; the kernel's "
                                "log (dmesg) may tell why, and --world netns does without radios")
            time.sleep(LOOK)


def dropped(interface: str) -> int:
    """Frames that the radio of this namespace could not hand over, or gave up waiting for a report about.

    By ethtool's counters, include/uapi/linux/ethtool.h. Raises OSError.
    """
    ask = bytearray(struct.pack("=IIQI", GSSET_INFO, 0, 1 << STATISTICS, 0))
    _ethtool(interface, ask)
    count, = struct.unpack_from("=I", ask, 16)
    names = bytearray(struct.pack("=III", GSTRINGS, STATISTICS, count) + bytes(count * NAME_BYTES))
    values = bytearray(struct.pack("=II", GSTATS, count) + bytes(8 * count))
    _ethtool(interface, names)
    _ethtool(interface, values)
    found: dict[str, int] = {names[12 + k * NAME_BYTES:][:NAME_BYTES].rstrip(b"\0").decode(): value
             for k, (value,) in enumerate(struct.iter_unpack("=Q", values[8:]))}
    return found.get("d_tx_dropped", 0) + found.get("d_tx_failed", 0)


def _ethtool(interface: str, command: bytearray) -> None:
    place = (ctypes.c_char * len(command)).from_buffer(command)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        fcntl.ioctl(probe, SIOCETHTOOL, struct.pack("16sP16x", interface.encode(), ctypes.addressof(place)))


# ---- is there any of this? ---------------------------------------------------------------------------------
def check() -> None:
    """Whether this machine can make such radios; loads the kernel's module where that is allowed. Raises Unsupported."""
    if not _there():
        _load()
        if not _there():
            raise kernel.Unsupported(f"{MODULE} is loaded but does not answer; use --world netns")
    kernel.check_support(lambda: attach().close())


def _there() -> bool:
    try:
        with genetlink.open_socket() as control:
            genetlink.family(control, HWSIM)
    except OSError:
        return False
    return True


def _load() -> None:
    """Without radios of its own: each host makes one."""
    release = os.uname().release
    if os.geteuid() != 0:
        raise kernel.Unsupported(f"{MODULE} is not loaded; as root: modprobe {MODULE} radios=0; where the kernel "
                                 f"({release}) has no such module, use --world netns")
    if (modprobe := shutil.which("modprobe", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")) is None:
        raise kernel.Unsupported(f"{MODULE} is not loaded and there is no modprobe; install kmod, or use --world netns")
    done = subprocess.run([modprobe, MODULE, "radios=0"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1].removeprefix("modprobe: ")
        where = "" if Path(f"/lib/modules/{release}").exists() else f"; there is no /lib/modules/{release}"
        raise kernel.Unsupported(f"this kernel ({release}) has no {MODULE} ({said}{where}): boot one that has it, such "
                                 "as Debian's linux-image-amd64, or use --world netns")


def _u32(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("=I", value))
