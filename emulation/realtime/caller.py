"""A world in real time from the caller's side: whether this machine holds it, progress, Ctrl-C, the last word."""
from __future__ import annotations

import contextlib
import gc
import io
import os
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from emulation import addresses
from emulation.linux import kernel, netlink, port
from emulation.realtime.channel import Channel, close_all_but
from emulation.realtime.forecast import Forecast, forecast
from emulation.realtime.plan import Fabric, Plan
from emulation.realtime.processes import Failed
from emulation.realtime.supervisor import Supervisor
from emulation.records import DiskFull
from emulation.rundir import RunDirectory
from emulation.world import Progress, Report, Say, WorldError
from mobility import Movement
from topologies import Scenario

FILES_PER_HOST, FILES = 4, 64  # descriptors that the supervisor has open: for each host, besides
ARP_ENTRIES = 8  # of a host among its neighbors, broadcast and multicast included
FOLDERS = ("control", "programs")  # in the run directory while it lasts
LEAVING = 10.0  # s for the last process to end when the run is over
POLL = 0.2  # s after which a Ctrl-C is seen at the latest


class RealTimeWorld:
    """emulation.world.World, whose hosts are made of this fabric."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric

    def check(self, scenario: Scenario) -> None:
        hosts = len(scenario.names)
        if hosts > addresses.MAX_HOSTS:
            raise WorldError(f"{hosts} hosts: 10.0.0.0/8 has addresses for {addresses.MAX_HOSTS}; use fewer")
        wanted = hosts * FILES_PER_HOST + FILES
        if (allowed := kernel.allow_files(wanted)) < wanted:
            room = max((allowed - FILES) // FILES_PER_HOST, 0)
            raise WorldError(f"{hosts} hosts need {wanted} open files and this session may have {allowed}, "
                             f"enough for {room} hosts; raise the limit as root (ulimit -Hn {wanted}), or use "
                             "--world sim")
        for host in range(hosts):
            if (interface := scenario.hosts.interface_of(host)) is not None:
                _check_port(host, interface)
            command = scenario.hosts.command_of(host)
            if command and shutil.which(command[0]) is None:
                raise WorldError(f"host {host}'s command {command[0]}: there is no such program; install it, or "
                                 "give its path")
        try:
            self.fabric.check()
        except kernel.Unsupported as error:
            raise WorldError(str(error)) from None

    def prepare(self, scenario: Scenario, movement: Movement, progress: Report | None, say: Say) -> RealTimeRun:
        expected = forecast(scenario, movement)
        say(str(expected))
        if warning := _crowded_tables(scenario):
            say(warning)
        return RealTimeRun(self.fabric, scenario, movement, expected, progress)


def _check_port(host: int, interface: str) -> None:
    try:
        port.check(interface)
    except kernel.Unsupported as error:
        raise WorldError(f"host {host}: {error}") from None


def _crowded_tables(scenario: Scenario) -> str:
    """A warning when the kernel's table of neighbors, one for all namespaces, may be too small."""
    hosts = len(scenario.names)
    try:
        limit = int(Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3").read_text())
    except (OSError, ValueError):
        return ""
    if scenario.netns.neighbors == "permanent" or hosts * ARP_ENTRIES <= limit:
        return ""
    return (f"the ARP tables of all {hosts} hosts together hold {limit} entries, and unicasts fail when they "
            'are full: set netns.neighbors = "permanent", or as root: '
            f"sysctl net.ipv4.neigh.default.gc_thresh3={hosts * ARP_ENTRIES}")


def _tidy(path: Path) -> None:
    """Take away what has no meaning after a run."""
    (path / "live.json").unlink(missing_ok=True)
    shutil.rmtree(path / "control", ignore_errors=True)
    for name in ("programs", "hosts.log"):
        left = path / name
        if left.is_dir() and not any(left.iterdir()):
            left.rmdir()
        elif left.is_file() and left.stat().st_size == 0:
            left.unlink()


class RealTimeRun:
    """emulation.world.Run: starts the other processes and listens to the supervisor."""

    def __init__(self, fabric: Fabric, scenario: Scenario, movement: Movement, expected: Forecast,
                 progress: Report | None) -> None:
        self._fabric, self._scenario, self._movement, self._expected = fabric, scenario, movement, expected
        self._progress = progress
        self.stopping = False
        self._now = 0.0
        self._epoch: float | None = None
        self._made: float | None = None  # s until all hosts were there
        self._up: float | None = None  # s until the run began, the self-check included
        self._fidelity: dict[str, object] = {}
        self._workload: dict[str, int] = {}
        self._disk_full: str | None = None

    @property
    def begun(self) -> bool:
        return self._epoch is not None

    def now(self) -> float:
        return self._now

    def told(self) -> dict[str, object]:
        return {"epoch": self._epoch, "workload": self._workload, "limits": self._scenario.run.fidelity.model_dump(),
                "fidelity": {**self._fidelity, "expected_processors": round(self._expected.processors, 2)}}

    def run(self, directory: RunDirectory) -> None:
        path = directory.path
        try:
            for folder in FOLDERS:
                (path / folder).mkdir()
            self._run(Plan(self._fabric, self._scenario, self._movement, path.resolve(), Path.cwd()))
            if self._disk_full is not None:
                raise DiskFull(self._disk_full)
        except WorldError as error:
            self._fidelity = {"real_time": True, "valid": False, "invalid_because": [str(error)]}
            raise
        finally:
            _tidy(path)

    def _run(self, plan: Plan) -> None:
        if self._scenario.netns.neighbors == "permanent":
            plan.neighbors = netlink.permanent_neighbors(plan.hosts)
        here, there = Channel.pair()
        pid = _start(plan, there)
        there.close()
        try:
            self._listen(here)
            _ends_by_itself(pid)
        finally:
            here.close()
            _end(pid)
            plan.poll.close()

    def _listen(self, supervisor: Channel) -> None:
        """To its last word. Raises WorldError and DiskFull."""
        told = False
        while True:
            if self.stopping and not told:
                told = True
                supervisor.send({"stop": True})
            message = supervisor.receive(POLL)
            if message is None:
                raise WorldError(f"the run's supervisor was killed at {self._now:.0f} s")
            if "failed" in message:
                raise WorldError(message["failed"])
            self._epoch = message.get("epoch", self._epoch)
            self._up = message.get("up", self._up)
            self._made = message.get("made", self._made)
            if "now" in message:
                self._now = message["now"]
                if self._progress is not None:
                    self._progress(Progress(self._now, self._scenario.run.duration, message["published"],
                                            message["delivered"], message["hosts"]))
            if "ended" in message:
                self._end(message)
                return

    def _end(self, message: dict[str, Any]) -> None:
        self._now, self._workload = message["ended"], message["workload"]
        self._fidelity = {**message["fidelity"], "hosts_made_seconds": self._made, "up_seconds": self._up}
        self._disk_full = message["disk_full"]


def _ends_by_itself(pid: int) -> None:
    """Give the processes of a run that is over the time to be gone: when this one is, all are."""
    deadline = time.monotonic() + LEAVING
    while time.monotonic() < deadline:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(0.01)


def _end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)  # if it has not ended; it is ours until we wait for it
    os.waitpid(pid, 0)


def _start(plan: Plan, channel: Channel) -> int:
    """Fork the process between the caller and the supervisor, which makes the pid namespace."""
    gc.collect()
    gc.freeze()
    caller = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        gc.unfreeze()
        return pid
    try:
        os.setpgid(0, 0)  # Ctrl-C is for the caller alone
        for number in (signal.SIGINT, signal.SIGTERM):  # and what it does about that, too
            signal.signal(number, signal.SIG_DFL)
        kernel.enter_namespaces()
        kernel.die_with_parent(caller)
        between = os.getpid()
        child = os.fork()
        if child == 0:
            kernel.die_with_parent(between)
            _supervise(plan, channel)
        channel.close()
        os.waitpid(child, 0)
    except BaseException as error:
        channel.send({"failed": str(error)})
    finally:
        os._exit(1)


class _Log(io.TextIOWrapper):
    """hosts.log for all processes of a run: a full disk takes its lines, and ends nobody."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def _supervise(plan: Plan, channel: Channel) -> None:
    """The supervisor's process, to its end."""
    try:
        os.chdir(plan.path)
        log = os.open("hosts.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        null = os.open(os.devnull, os.O_RDONLY)
        for descriptor, at in ((null, 0), (log, 1), (log, 2)):
            os.dup2(descriptor, at)
        sys.stdout = sys.stderr = _Log(open(2, "wb", buffering=0, closefd=False), line_buffering=True, errors="replace")
        close_all_but({channel.fileno(), plan.poll.fileno()})
        Supervisor(plan, channel).run()
    except Failed as error:
        channel.send({"failed": str(error)})
    except BaseException as error:
        traceback.print_exc()
        channel.send({"failed": f"{type(error).__name__}: {error}"})
    finally:
        os._exit(0)
