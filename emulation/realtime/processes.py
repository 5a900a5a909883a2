"""The processes of the hosts, as the supervisor keeps them: started, struck by faults, missed when gone."""
from __future__ import annotations

import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from emulation.linux import kernel, port
from emulation.realtime import host as host_process
from emulation.realtime.channel import Channel, close_all_but
from emulation.realtime.fidelity import SEEN, THAWED, few
from emulation.realtime.node import COUNT, ENDS
from emulation.realtime.plan import Plan

PATIENCE = 60.0  # s for any answer before the run
MOST_TOLD = 20  # disturbances that are told one by one


class Failed(Exception):
    """The run cannot begin or go on; str() is one sentence."""


def fork(job: Callable[[Channel], None], keep: Iterable[int] = ()) -> tuple[int, Channel]:
    """A process that does `job(channel)` and ends; its pid and the channel's other end.

    Of the descriptors it has only the standard ones and those to `keep`. Raises Failed.
    """
    here, there = Channel.pair()
    try:
        pid = os.fork()
    except OSError as error:
        raise Failed(f"cannot start another process ({error.strerror}); raise the limit (ulimit -u, or as "
                     "root sysctl kernel.pid_max), or use fewer hosts") from None
    if pid:
        there.close()
        return pid, here
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        close_all_but({there.fileno(), *keep})
        job(there)
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except kernel.Unsupported as error:
        there.send({"failed": str(error)})
    except BaseException as error:
        traceback.print_exc()
        there.send({"failed": f"{type(error).__name__}: {error}"})
    finally:
        sys.stderr.flush()
        os._exit(code)


@dataclass(slots=True)
class Host:
    number: int
    channel: Channel | None = None  # to the node's process until the run begins
    space: int = -1  # its network namespace; none for a real device
    tap: int = -1
    watch: int = -1  # by which its kernel tells of its interfaces
    epoch: int = 0  # of its node's latest life
    node: int | None = None  # pid, while its life is wanted
    leaving: int | None = None  # pid of a node that was told to stop
    command: int | None = None
    spoken: Channel | None = None  # from the command, until it has become it
    again: bool = False  # to start when the node that is leaving has left
    since: float = 0.0  # s of the run, when this life began
    told: float = 0.0  # s of the run, when it was told to stop
    up: bool = False  # its radio is on and its programs are wanted
    frozen: bool = False

    @property
    def way(self) -> Channel:
        """To the node's process, which is there."""
        assert self.channel is not None
        return self.channel

    def state(self) -> str:
        """What a person who watches sees of it."""
        if self.frozen:
            return "frozen"
        if self.leaving is not None:
            return "stopping"
        return "up" if self.up else "down"

    def pids(self) -> list[int]:
        return [pid for pid in (self.node, self.leaving, self.command) if pid is not None]


class Hosts:
    """All hosts of a run. `tell(host, what, record, **fields)` speaks to the medium, `now` is the run's
    time."""

    def __init__(self, plan: Plan, tell: Callable[..., None], now: Callable[[], float]) -> None:
        self._plan = plan
        self._tell = tell
        self._now = now
        self._began = 0.0
        self.all = [Host(number) for number in range(plan.hosts)]
        self.disturbances: list[str] = []
        self.started: Callable[[int], None] = lambda number: None  # told of each further life of a host
        self._halted: dict[int, tuple[Host, str, float]] = {}  # processes that somebody has stopped: whose, what, since when

    # ---- before the run --------------------------------------------------------------------------
    def make(self) -> None:
        """Namespaces, devices and processes of all hosts, made side by side. Raises Failed."""
        plan = self._plan
        ports = {} if plan.fabric.inside else plan.ports
        for number, interface in ports.items():
            try:
                self.all[number].tap = port.open_port(interface)
            except kernel.Unsupported as error:
                raise Failed(f"host {number}: {error}") from None
        made = [host for host in self.all if host.number not in ports]
        for host in made:
            host.node, host.channel = fork(
                partial(host_process.make, plan, host.number),
                keep=plan.stations[host.number:host.number + 1])
        for host in made:
            self.answer(host, "made")
            host.tap, host.space, host.watch = host.way.descriptors

    def answer(self, host: Host, key: str) -> dict[str, Any]:
        """What a host's process says, which must hold `key`. Raises Failed."""
        answer = host.way.receive(PATIENCE)
        if answer and key in answer:
            return answer
        reason = (answer or {}).get("failed") or (
            f"it did not answer for {PATIENCE:g} s" if answer == {} else "its process ended")
        raise Failed(f"host {host.number} cannot be created: {reason}")

    def prepare(self, late: set[int]) -> None:
        """Have the nodes of all hosts ready to begin; where there is none yet, the process ends."""
        for host in self.all:
            lives = self._has_node(host) and host.number not in late
            if host.channel is not None:
                host.channel.send({"node": lives, "epoch": 1})
            if not lives:
                host.node = None
        for host in self.all:
            if host.node is not None:
                self.answer(host, "prepared")
            if host.number not in late:
                host.epoch, host.up = 1, True

    def begin(self, began: float, late: set[int]) -> None:
        """The run begins at `began` of the monotonic clock."""
        self._began = began
        for host in self.all:
            if host.channel is None:
                continue  # a real device, which does not wait for us
            host.channel.send({"began": began})
            host.channel.close()
            host.channel = None

    def start_commands(self, late: set[int]) -> None:
        for host in self.all:
            if host.number not in late:
                self._start_command(host)

    # ---- faults ----------------------------------------------------------------------------------
    def start(self, number: int) -> None:
        """A new life of a host, one epoch on; no-op while it lives."""
        host = self.all[number]
        if host.leaving is not None:
            host.again = True
        elif not host.up:
            host.up, host.since = True, self._now()
            host.epoch += 1
            self._tell(number, "up", "host_up", epoch=host.epoch)
            self.started(number)
            if self._has_node(host):
                plan, epoch, began, space = self._plan, host.epoch, self._began, host.space
                host.node, channel = fork(
                    lambda channel: host_process.again(plan, number, space, epoch, began, channel),
                    keep=[space])
                channel.close()
            self._start_command(host)

    def stop(self, number: int) -> None:
        """Ask a host's programs to end; its radio goes off when the node has had its last words."""
        host = self.all[number]
        if not host.up:
            return
        self._tell(number, "nothing" if host.node is not None else "leave", "host_down", how="stop")
        for pid in host.pids():
            _kill(pid, signal.SIGTERM)
            _kill(pid, signal.SIGCONT)
        host.node, host.leaving, host.command = None, host.node, None
        host.up = host.frozen = False
        host.told = self._now()

    def crash(self, number: int) -> None:
        """The host is gone from one instant to the next."""
        host = self.all[number]
        if not host.up:
            return
        for pid in host.pids():
            _kill(pid, signal.SIGKILL)
        host.node = host.leaving = host.command = None
        host.up = host.frozen = False
        self._tell(number, "down", "host_down", how="crash")

    def freeze(self, number: int) -> None:
        """Nothing of the host's runs until `thaw`; its radio and its kernel go on."""
        if not self.all[number].up:
            return  # its node has died, which is told
        self.all[number].frozen = True
        for pid in self.all[number].pids():
            _kill(pid, signal.SIGSTOP)
        self._tell(number, "nothing", "host_frozen")

    def thaw(self, number: int) -> None:
        if not self.all[number].frozen:
            return
        self.all[number].frozen = False
        self._plan.nodes[number].words[THAWED] = int(self._now() * 1e9)
        for pid in self.all[number].pids():
            _kill(pid, signal.SIGCONT)
        self._tell(number, "nothing", "host_thawed")

    # ---- ends ------------------------------------------------------------------------------------
    def ended(self, pid: int, status: int) -> None:
        """A process of this pid namespace has ended, or was stopped where it was, or goes on."""
        host = next((host for host in self.all if pid in host.pids()), None)
        if host is None:
            return  # struck by a fault, or a program's own child
        if os.WIFSTOPPED(status):
            if not host.frozen and pid not in self._halted:
                self._halted[pid] = host, "command" if pid == host.command else "node", self._now()
            return
        self._goes_on(pid, f"{self._now():.1f} s")
        if os.WIFCONTINUED(status):
            return
        code = os.waitstatus_to_exitcode(status)
        if pid == host.leaving:
            host.leaving = None
            self._tell(host.number, "leave")
            if host.again:
                host.again = False
                self.start(host.number)
        elif pid == host.node:
            host.node, host.up = None, False
            how = (f"was killed from outside (signal {-code})" if code < 0 else
                   f"ended (exit code {code}; see hosts.log)")
            self.disturbances.append(f"host {host.number}'s node {how} at {self._now():.1f} s")
            self._tell(host.number, "down", "host_down", how="died")
        else:
            host.command = None
            self._command_ended(host, code)

    def _goes_on(self, pid: int, until: str) -> None:
        """A process that somebody had stopped runs again, or has ended."""
        host, what, since = self._halted.pop(pid, (None, "", 0.0))
        if host is not None and self._now() - since > self._plan.scenario.run.fidelity.stall:
            self.disturbances.append(f"host {host.number}'s {what} was stopped from outside (SIGSTOP) from {since:.1f} s to "
                                     f"{until}")

    def last_look(self) -> None:
        """The run ends: what does not end or stands still tells nothing of it itself."""
        for pid in list(self._halted):
            self._goes_on(pid, "the end")
        now, patience = self._now(), self._plan.scenario.run.fidelity.stall
        for host in self.all:
            if host.leaving is not None and now - host.told > patience:
                self.disturbances.append(f"host {host.number}'s node was asked to stop at {host.told:.1f} s and still ran at "
                                         "the end")
            tally = self._plan.nodes[host.number]
            last = max(host.since, tally.words[SEEN] * 1e-9, tally.words[THAWED] * 1e-9) + COUNT
            if host.node is not None and not host.frozen and now > last:
                tally.late(now - last, last)

    def _command_ended(self, host: Host, code: int) -> None:
        spoken = (host.spoken.receive(0.0) if host.spoken else None) or {}
        if code == 0:
            return  # it has done what it had to do
        how = f"was killed from outside (signal {-code})" if code < 0 else f"ended with exit code {code}"
        name = (self._plan.scenario.hosts.command_of(host.number) or [""])[0]
        why = spoken.get("failed") or f"{name} {how}; see programs/{host.number}.log"
        self.disturbances.append(f"host {host.number}'s command failed at {self._now():.1f} s: {why}")

    def end(self, grace: float) -> None:
        """End everything: nodes without a word, which would be no part of the run, but for their last records;
        commands in order. Those that have not ended after `grace` s are killed."""
        left = {pid for host in self.all for pid in host.pids()}
        for host in self.all:
            for pid in (host.node, host.leaving):
                if pid is not None:
                    _kill(pid, signal.SIGKILL if host.frozen else ENDS)
            if host.command is not None:
                _kill(host.command, signal.SIGTERM)
                _kill(host.command, signal.SIGCONT)
            host.node = host.leaving = None
        deadline = time.monotonic() + grace
        while left and time.monotonic() < deadline:
            time.sleep(0.02)
            left -= {pid for pid, status in reaped() if not os.WIFSTOPPED(status) and not os.WIFCONTINUED(status)}
        for pid in left:
            _kill(pid, signal.SIGKILL)
        wait_for(left)

    def processor(self) -> float:
        """CPU seconds of all processes of this run that have ended."""
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def told(self) -> list[str]:
        """The disturbances, not more than a person reads."""
        return few(self.disturbances, "such ends", MOST_TOLD)

    # ---- programs --------------------------------------------------------------------------------
    def _has_node(self, host: Host) -> bool:
        return self._plan.scenario.hosts.runs_node(host.number)

    def _start_command(self, host: Host) -> None:
        command = self._plan.scenario.hosts.command_of(host.number)
        if command:
            if host.spoken is not None:
                host.spoken.close()
            plan, number, space = self._plan, host.number, host.space
            host.command, host.spoken = fork(
                lambda channel: host_process.execute(plan, number, space, list(command), channel),
                keep=[space])


def reaped() -> list[tuple[int, int]]:
    """(pid, status) of the processes that ended since the last call, or were stopped by a signal, or continued."""
    found: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        found.append((pid, status))


def wait_for(pids: Iterable[int]) -> None:
    """Wait for the end of children that are about to end or have."""
    for pid in pids:
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            continue  # `reaped` had it


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it ended by itself just now
