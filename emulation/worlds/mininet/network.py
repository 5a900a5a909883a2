"""Has Mininet-WiFi make the stations of a run, in namespaces that end with the run.

Its process is a child of the supervisor, in a network namespace of its own, where the radios are made, and with mounts of its
own: its /proc is the run's, its /run is empty. So neither radios nor programs of the machine are touched, wmediumd serves this
run alone, and the kernel takes everything away with the supervisor, whatever that dies of.
"""
from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from emulation import addresses
from emulation.linux import kernel
from emulation.realtime.channel import Channel
from emulation.realtime.plan import Plan
from emulation.realtime.processes import Failed, fork
from emulation.worlds.hwsim import radio
from emulation.worlds.mininet import loop
from emulation.worlds.mininet.replay import Replay, broadcast_rate, path_loss
from topologies.radio import UnitDiskRadio

PROGRAMS = {"wmediumd": "-l", "hwsim_mgmt": "-W", "mnexec": "-n", "iw": "-W"}  # and what of its install.sh brings them
PYTHONS = ("/usr/bin/python3", "/usr/local/bin/python3")  # besides ours: where its install.sh installs for
LOOK = ("import importlib.util as u, sys; sys.path[:1] = []; "
        "sys.exit(not (u.find_spec('mn_wifi') and u.find_spec('mininet')))")
OTHERS = "--world hwsim and --world netns need no Mininet-WiFi"
LOCK = Path("/run/lock/roamcast-mininet")
DRIVER = Path(__file__).with_name("driver.py")
CELL = "02:72:6f:61:6d:63"
BEACONS = 1000  # units of 1.024 ms: in ad hoc mode each radio of hwsim sends all of its own
PATIENCE, EACH = 60.0, 10.0  # s for the stations to be made: for all, and for each besides
MOUNTS = (("proc", "/proc"), ("sysfs", "/sys"), ("debugfs", "/sys/kernel/debug"), ("tmpfs", "/run"))
SEARCHED = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def check() -> None:
    """Whether Mininet-WiFi, what it needs, and radios can be had here. Raises kernel.Unsupported."""
    python()
    if os.geteuid() != 0:
        raise kernel.Unsupported("Mininet-WiFi needs root; run this as root (sudo), or use --world netns")
    for program, part in PROGRAMS.items():
        if shutil.which(program, path=os.pathsep.join(SEARCHED)) is None:
            raise kernel.Unsupported(f"Mininet-WiFi is installed, but its program {program} is not; in its folder: sudo util/install.sh "
                                     f"{part} (docs/worlds.md); {OTHERS}")
    radio.check()


def python() -> str:
    """The interpreter for which Mininet-WiFi is installed. Raises kernel.Unsupported."""
    if importlib.util.find_spec("mn_wifi") and importlib.util.find_spec("mininet"):
        return sys.executable
    for other in PYTHONS:
        if os.path.exists(other) and subprocess.run([other, "-c", LOOK], capture_output=True, cwd="/").returncode == 0:
            return other
    raise kernel.Unsupported(f"Mininet-WiFi is installed neither for {sys.executable} nor for {PYTHONS[0]}: its own install.sh "
                             "gets it, and this project's Vagrantfile a machine that has it (vagrant up; docs/worlds.md); "
                             f"{OTHERS}")


def begin(plan: Plan) -> None:
    """Have the stations made: `plan.stations` are their namespaces, `plan.network` is the way to Mininet-WiFi. Raises Failed."""
    _alone()
    interpreter = python()
    _, plan.network = fork(lambda channel: _become(interpreter, channel))
    plan.network.send(_order(plan))
    patience = PATIENCE + EACH * plan.hosts
    for host in range(plan.hosts):
        answer = plan.network.receive(patience)
        if not answer or "station" not in answer:
            raise Failed((answer or {}).get("failed") or (
                f"Mininet-WiFi did not create the stations in {patience:g} s; see hosts.log" if answer == {} else
                "Mininet-WiFi's process ended; see hosts.log"))
        plan.stations += plan.network.descriptors
    for host, interface in plan.ports.items():
        loop.move(host, interface, plan.stations[host])


def _alone() -> None:
    """Hold the machine's one place for Mininet-WiFi until this process ends. Raises Failed."""
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    held = os.open(LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Failed("another run in world mininet is active here, and Mininet-WiFi serves one at a time: wait until it ends, "
                     "or use --world hwsim") from None


def _order(plan: Plan) -> dict[str, object]:
    """What the driver is told first."""
    scenario = plan.scenario.radio
    assert isinstance(scenario, UnitDiskRadio)  # as topologies.check has seen to
    exponent, noise = path_loss(scenario.range)
    stations = [[addresses.mac(host).hex(":"), f"{addresses.ipv4(host)}/{addresses.IPV4_PREFIX}", place]
                for host, *place in Replay(plan.movement).moved(0.0)]
    return {"stations": stations, "ports": list(plan.ports), "exponent": exponent, "noise": noise, "ssid": "roamcast",
            "cell": CELL, "beacons": BEACONS, "rate": broadcast_rate(scenario.base_rate)}


def _become(interpreter: str, channel: Channel) -> None:
    """Be Mininet-WiFi's process, in namespaces of its own. Raises kernel.Unsupported and OSError."""
    kernel.make_network()
    kernel.make_mounts()
    for kind, at in MOUNTS:
        kernel.mount(kind, at, kind)
    os.chdir("/run")
    os.set_inheritable(channel.fileno(), True)
    environment = {"PATH": os.pathsep.join(SEARCHED), "TMPDIR": "/run", "HOME": "/run", "LC_ALL": "C.UTF-8",
                   "MPLBACKEND": "Agg"}
    os.execve(interpreter, [interpreter, "-c", DRIVER.read_text(), str(channel.fileno())], environment)
