"""A run in the world `netns` from the caller's side: the run directory, progress, Ctrl-C, the last word."""
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
from collections.abc import Callable
from pathlib import Path

from emulation import addresses, rundir, runner
from emulation.linux import kernel, netlink, port
from emulation.neighborhood import TRUTH_INTERVAL
from emulation.propagation import LINK_EXISTS
from emulation.realtime.channel import Channel, close_all_but
from emulation.realtime.forecast import forecast
from emulation.realtime.plan import Device, Plan
from emulation.realtime.processes import Failed
from emulation.realtime.supervisor import Supervisor
from emulation.records import DiskFull
from emulation.rundir import RunDirectory
from emulation.runner import WorldError
from emulation.worlds.netns import world as tap

FILES_PER_HOST, FILES = 4, 64  # descriptors that the supervisor has open: for each host, besides
ARP_ENTRIES = 8  # of a host among its neighbors, broadcast and multicast included
FOLDERS = ("control", "programs")  # in the run directory while it lasts
LEAVING = 10.0  # s for the last process to end when the run is over
POLL = 0.2  # s after which a Ctrl-C is seen at the latest


def check(scenario) -> None:
    """What this machine cannot hold, before anything has started. Raises WorldError."""
    hosts = len(scenario.names)
    if hosts > addresses.MAX_HOSTS:
        raise WorldError(f"{hosts} hosts: 10.0.0.0/8 has addresses for {addresses.MAX_HOSTS}; take fewer")
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
        device_of(scenario.run.world).check()
    except kernel.Unsupported as error:
        raise WorldError(str(error)) from None


def _check_port(host: int, interface: str) -> None:
    try:
        port.check(interface)
    except kernel.Unsupported as error:
        raise WorldError(f"host {host}: {error}") from None


def device_of(world: str) -> Device:
    """What a host of that world has for its wlan0."""
    if world == "hwsim":
        from emulation.worlds.hwsim.medium import DEVICE

        return DEVICE
    if world == "mininet":
        from emulation.worlds.mininet.medium import DEVICE

        return DEVICE
    return tap.DEVICE


def _crowded_tables(scenario) -> str:
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


def run(scenario, out: Path | None = None, progress: Callable[[runner.Progress], None] | None = None,
        say: Callable[[str], None] = lambda sentence: None) -> Path:
    """Run a scenario in namespaces and real time; the run directory, whose manifest tells how it went.

    `say` takes the forecast of the load, and warnings.

    What was recorded of a run that failed midway is kept, and the manifest says why it failed. Raises
    WorldError for one that did not even begin, mobility.TraceError and rundir.RunDirError.
    """
    check(scenario)
    movement = scenario.movement()
    expected = forecast(scenario, movement)
    say(str(expected))
    if warning := _crowded_tables(scenario):
        say(warning)
    path = out or rundir.default_path(scenario.run.name, scenario.run.seed)
    caller = _Caller(scenario, progress)
    directory = RunDirectory(path, scenario.to_toml("trace.movements.gz"), world=scenario.run.world,
                             now=lambda: caller.now, notes=runner.notes(scenario))
    outcome, reason = rundir.FAILED, None
    try:
        runner.write_trace(movement, path)
        for folder in FOLDERS:
            (path / folder).mkdir()
        caller.run(Plan(device_of(scenario.run.world), scenario, movement, path.resolve(), Path.cwd()))
        outcome = rundir.INTERRUPTED if caller.stopping else rundir.COMPLETE
        if caller.disk_full:
            outcome, reason = rundir.DISK_FULL, caller.disk_full
    except DiskFull as error:
        outcome, reason = rundir.DISK_FULL, str(error)
    except WorldError as error:
        reason = str(error)
        caller.fidelity = {"real_time": True, "valid": False, "invalid_because": [reason]}
        if caller.epoch is None:
            raise  # there is nothing to analyse
    except KeyboardInterrupt:
        outcome = rundir.INTERRUPTED
        raise
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
        raise
    finally:
        _tidy(path)
        directory.finish(outcome, caller.now, reason, epoch=caller.epoch,
                         truth={"link_exists": LINK_EXISTS, "looked_every": TRUTH_INTERVAL},
                         fidelity={**caller.fidelity, "expected_processors": round(expected.processors, 2)},
                         limits=scenario.run.fidelity.model_dump(), workload=caller.workload)
    return path


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


class _Caller:
    """Starts the other processes and listens to the supervisor."""

    def __init__(self, scenario, progress: Callable[[runner.Progress], None] | None) -> None:
        self._duration = scenario.run.duration
        self._progress = progress
        self.stopping = False  # set by Ctrl-C
        self.now = 0.0
        self.epoch: float | None = None
        self.made: float | None = None  # s until all hosts were there
        self.up: float | None = None  # s until the run began, the self-check included
        self.fidelity: dict[str, object] = {}
        self.workload: dict[str, int] = {}
        self.disk_full: str | None = None

    def run(self, plan: Plan) -> None:
        """To the end of the run. Raises WorldError."""
        plan.neighbors = (netlink.permanent_neighbors(plan.hosts)
                          if plan.scenario.netns.neighbors == "permanent" else b"")
        here, there = Channel.pair()
        with runner.stop_on_interrupt(self):
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
        told = False
        while True:
            if self.stopping and not told:
                told = True
                supervisor.send({"stop": True})
            message = supervisor.receive(POLL)
            if message is None:
                raise WorldError(f"the run's supervisor was killed at {self.now:.0f} s")
            if "failed" in message:
                raise WorldError(message["failed"])
            self.epoch = message.get("epoch", self.epoch)
            self.up = message.get("up", self.up)
            self.made = message.get("made", self.made)
            if "now" in message:
                self.now = message["now"]
                if self._progress is not None:
                    self._progress(runner.Progress(self.now, self._duration, message["published"],
                                                   message["delivered"], message["hosts"]))
            if "ended" in message:
                self.now, self.disk_full = message["ended"], message["disk_full"]
                self.fidelity = {**message["fidelity"], "hosts_made_seconds": self.made,
                                 "up_seconds": self.up}
                self.workload = message["workload"]
                return


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
