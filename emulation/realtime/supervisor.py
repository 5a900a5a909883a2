"""The warm process of a run: everything is imported, the garbage collector frozen, and it forks the rest.

It is the init of a pid namespace, so that nothing outlives it. It has the hosts and the medium made,
connectivity checked and the run begun for all at one instant, strikes the scenario's faults at their times,
and ends the run. It tells its caller, in messages: {"made": s}, {"began", "epoch", "up"}, every second
{"now", "published", "delivered", "hosts"}, at last {"ended", ...} or {"failed": sentence}.
"""
from __future__ import annotations

import json
import os
import selectors
import signal
import time
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from typing import Any

from emulation.linux import kernel
from emulation.linux.watch import Watch
from emulation.medium import propagation_of
from emulation.realtime import fidelity, medium, probe
from emulation.realtime.channel import Channel, HasFileno
from emulation.realtime.fidelity import (
    DELIVERED,
    NEIGHBORS,
    PUBLISHED,
    RECORDS_LOST,
    REFUSED,
    SETTING_UP,
    UNSENT,
    Part,
)
from emulation.realtime.interfaces import Interfaces
from emulation.realtime.plan import Plan
from emulation.realtime.processes import Failed, Hosts, fork, reaped, wait_for
from topologies.scenario import HostFault

LEAD = 0.05, 0.002  # s from the word to the begin of the run: for all, and for each host besides
PROBE_LEAD = 0.05, 0.0002  # the same of the self-check, for which nothing is to be prepared
LAST_WORDS = 60.0  # s for the medium to write out what it has
GRACE = 1.0  # s that commands have to end in order
WATCHED = 1000  # hosts of which each is told in the reports of progress
TICK = 1.0  # s between two reports of progress
STEP, SLEPT = 0.05, 0.05  # s that the wall clock was set by, and that the machine slept, without a word
MOST_NOTES, MOST_HOSTS = 40, 10


class Supervisor:
    def __init__(self, plan: Plan, caller: Channel) -> None:
        self._plan = plan
        self._caller = caller
        self._began = float("inf")
        self._hosts = hosts = Hosts(plan, self._tell, self._now)
        self._interfaces = Interfaces(plan, self._tell, self._now, lambda host: hosts.all[host].up)
        hosts.started = self._interfaces.started
        self._watched: dict[Watch, int] = {}  # what tells of a host's interface -> the host
        self._clocks = 0.0, 0.0  # s by which the wall clock and that of all time since boot were ahead at the begin
        self._medium_pid = -1
        self._channel: Channel | None = None  # to the medium
        self._report: dict[str, Any] | None = None  # the medium's last word
        self._order = 0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._wake, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)

    def run(self) -> None:
        """From the making of the hosts to the last word. Raises Failed."""
        begun = time.monotonic()
        hosts = self._hosts
        self._plan.fabric.begin(self._plan)
        hosts.make()
        taps, spaces = [host.tap for host in hosts.all], [host.space for host in hosts.all]
        self._medium_pid, self._channel = fork(partial(medium.run, self._plan, taps, spaces),
                                               keep=[*taps, *spaces, self._plan.poll.fileno(), *self._network()])
        for tap in taps:
            os.close(tap)
        self._caller.send({"made": round(time.monotonic() - begun, 3)})
        if self._plan.scenario.netns.self_check:
            self._self_check()
        self._begin(begun)
        self._end(self._supervise())

    @property
    def _medium(self) -> Channel:
        """To the medium's process, which is there."""
        assert self._channel is not None
        return self._channel

    def _network(self) -> list[int]:
        """The descriptor of the program that made the hosts' namespaces, if one did."""
        return [] if self._plan.network is None else [self._plan.network.fileno()]

    def _self_check(self) -> None:
        plan, hosts = self._plan, self._hosts
        propagation = propagation_of(plan.scenario.radio, plan.movement, plan.scenario.run.seed)
        off = plan.late() | plan.ports.keys()  # what a real device hears nobody can ask
        expected = probe.reception(plan.movement, plan.scenario.radio, propagation, off, plan.fabric.edge)
        asked = [host for host in hosts.all if host.channel is not None and host.number not in plan.ports]
        heard: list[set[int]] = [set() for _ in range(plan.hosts)]
        for settle in probe.SETTLES:
            begins = time.monotonic() + PROBE_LEAD[0] + PROBE_LEAD[1] * plan.hosts
            ends = begins + plan.hosts * probe.SLOT + settle
            self._medium.send({"probe": ends})
            for host in asked:
                host.way.send({"probe": [begins, ends]})
            for host in asked:
                heard[host.number].update(hosts.answer(host, "heard")["heard"])
            if probe.complete(heard, expected):
                break
        if disagreement := probe.disagreement(heard, expected):
            raise Failed(disagreement)

    def _begin(self, begun: float) -> None:
        """Have all nodes prepared, then name the instant at which the run begins."""
        plan, hosts, late = self._plan, self._hosts, self._plan.late()
        hosts.prepare(late)
        self._watched = self._interfaces.begin({host.number: host.watch for host in hosts.all if host.watch >= 0})
        self._clocks = _ahead()
        self._began = time.monotonic() + LEAD[0] + LEAD[1] * plan.hosts
        epoch = time.time() + (self._began - time.monotonic())
        self._medium.send({"began": self._began, "epoch": epoch})
        hosts.begin(self._began, late)
        self._write_live()
        self._caller.send({"began": self._began, "epoch": epoch, "up": round(self._began - begun, 3)})
        self._at(0.0, partial(hosts.start_commands, late))
        for fault in plan.scenario.faults:
            if isinstance(fault, HostFault):
                self._at(fault.at, partial(getattr(hosts, fault.action), fault.host))
        self._at(TICK, self._tick)

    def _write_live(self) -> None:
        """live.json: how `roamcast exec` finds the hosts of this run while it lasts."""
        pid = int(os.readlink("/proc/self"))  # as those outside of our pid namespace see it
        live = {"pid": pid, "start": kernel.process_start(pid),
                "spaces": [host.space for host in self._hosts.all]}
        scratch = self._plan.path / "live.json.new"
        scratch.write_text(json.dumps(live))
        scratch.replace(self._plan.path / "live.json")

    # ---- during the run ---------------------------------------------------------------------------
    def _now(self) -> float:
        return time.monotonic() - self._began

    def _at(self, at: float, action: Callable[[], None]) -> None:
        self._order += 1  # what is due at one time is done in the order in which it was asked for
        heappush(self._due, (at, self._order, action))

    def _tell(self, host: int, what: str, record: str | None = None, **fields: object) -> None:
        order: dict[str, object] = {"host": host, "do": what, "fields": fields}
        if record is not None:
            order["record"] = record
        self._medium.send(order)

    def _tick(self) -> None:
        words = [tally.words for tally in self._plan.nodes]
        hosts = [{"epoch": host.epoch, "state": host.state(), "neighbors": word[NEIGHBORS],
                  "published": word[PUBLISHED], "delivered": word[DELIVERED], "unsent": word[UNSENT]}
                 for host, word in zip(self._hosts.all, words, strict=True)]
        progress = {"now": self._now(), "published": sum(word[PUBLISHED] for word in words),
                    "delivered": sum(word[DELIVERED] for word in words),
                    "hosts": hosts if len(hosts) <= WATCHED else None}
        self._caller.send(progress, wait=False)  # it may be stopped
        self._at(self._now() + TICK, self._tick)

    def _supervise(self) -> bool:
        """To the end of the run; whether that came early. Raises Failed."""
        duration = self._plan.scenario.run.duration
        with selectors.DefaultSelector() as selector:
            readables: tuple[int | HasFileno, ...] = (self._wake, self._caller, self._medium, *self._watched)
            for readable in readables:
                selector.register(readable, selectors.EVENT_READ)
            while self._now() < duration:
                while self._due and self._due[0][0] <= self._now():
                    due, _, action = heappop(self._due)
                    self._plan.supervisor.late(self._now() - due, due)
                    action()
                wait = min(self._due[0][0], duration) - self._now()
                ready = {key.fileobj for key, _ in selector.select(max(wait, 0.0))}
                if self._wake in ready:
                    os.read(self._wake, 4096)
                for pid, status in reaped():
                    self._hosts.ended(pid, status)
                for watch in [watch for watch in self._watched if watch in ready]:
                    self._interfaces.heed(self._watched[watch])
                if self._caller in ready:
                    return True
                if self._medium in ready:
                    self._report = self._hear_medium()
                    return self._now() < duration
            self._plan.supervisor.late(self._now() - duration, duration)
        return False

    def _hear_medium(self) -> dict[str, Any]:
        """The medium's only word, which is its last. Raises Failed when that is none of its own."""
        answer = self._medium.receive(LAST_WORDS)
        if not answer or "report" not in answer:
            why = (answer or {}).get("failed") or ("it does not answer" if answer == {} else "it was killed")
            raise Failed(f"the medium's process ended at {self._now():.1f} s: {why}")
        report: dict[str, Any] = answer["report"]
        return report

    # ---- the end ----------------------------------------------------------------------------------
    def _end(self, early: bool) -> None:
        if self._report is None and early:
            self._medium.send({"end": True})
        self._hosts.last_look()
        notes = [*self._interfaces.notes(), *clocks_said(self._clocks, _ahead(), bool(self._plan.ports))]
        self._hosts.end(GRACE)
        report = self._hear_medium() if self._report is None else self._report
        self._medium.close()
        wait_for([self._medium_pid])
        measured = self._measured(report)
        disturbances = [*self._hosts.told(), *report["disturbances"], *self._interfaces.disturbances(),
                        *self._lost_inside(report["socket_drops_of"])]
        because = fidelity.judge(measured, self._plan.scenario.run.fidelity, disturbances, self._parts())
        notes = fidelity.few([*notes, *self._refused(), *_told(measured)], "incidents at hosts", MOST_NOTES)
        counts = [tally.words for tally in self._plan.nodes]
        self._caller.send({"ended": report["ended"], "disk_full": report.get("disk_full"),
                           "fidelity": {"valid": not because, "invalid_because": because, "notes": notes, **measured},
                           "workload": {"published": sum(words[PUBLISHED] for words in counts),
                                        "delivered": sum(words[DELIVERED] for words in counts)}})

    def _parts(self) -> list[Part]:
        """The processes that are judged by themselves too, whatever the others did."""
        plan = self._plan
        nodes = [Part(f"host {host}'s node", tally, host=True) for host, tally in enumerate(plan.nodes)]
        return [Part("the medium", plan.medium), Part("the run's supervisor, which carries out the faults,", plan.supervisor),
                *nodes]

    def _lost_inside(self, dropped: list[int]) -> list[str]:
        """Datagrams that hosts lost within, in sentences; of a host that stood still that is told already."""
        said: list[str] = []
        stall = self._plan.scenario.run.fidelity.stall
        if not self._plan.fabric.compares:
            return said
        for host, tally in zip(self._hosts.all, self._plan.nodes, strict=True):
            has_node = self._plan.scenario.hosts.runs_node(host.number)
            if has_node and host.space >= 0 and host.epoch and tally.worst <= stall and not host.frozen:
                said += fidelity.lost_inside(f"host {host.number}", tally.words, host.epoch, dropped[host.number])
        return fidelity.few(said, "hosts lost datagrams, too", fidelity.MOST_TOLD)

    def _refused(self) -> list[str]:
        """Datagrams that kernels did not take of nodes whose interfaces were up, in a sentence."""
        refused = {host: tally.words[REFUSED] for host, tally in enumerate(self._plan.nodes)
                   if tally.words[REFUSED] and not self._interfaces.disturbed(host)}
        if not refused:
            return []
        some = ", ".join(map(str, list(refused)[:MOST_HOSTS])) + (", ..." if len(refused) > MOST_HOSTS else "")
        return [f"kernels refused {sum(refused.values())} datagrams from the nodes of hosts {some} (a full table of "
                "neighbors, a full queue or a firewall; hosts.log has the first of each): they count as sent"]

    def _measured(self, report: dict[str, Any]) -> dict[str, Any]:
        """The manifest's table fidelity but for the judgement."""
        plan = self._plan
        words = [tally.words for tally in plan.nodes]
        setting_up = sum(word[SETTING_UP] for word in words) * 1e-9
        hosts = self._hosts.processor() - report["whole_processor"] - setting_up
        more = {name: report[name] for name in ("ports", "capture_drops") if report.get(name)}
        return {"real_time": True, **more, "medium": fidelity.lateness([plan.medium]),
                "positions": fidelity.lateness([plan.positions]), "nodes": fidelity.lateness(plan.nodes),
                "latest_node": max(range(plan.hosts), key=lambda host: plan.nodes[host].worst),
                "supervisor": fidelity.lateness([plan.supervisor]),
                "receptions": report["receptions"], "socket_drops": report["socket_drops"],
                "tap_drops": report["device_drops"], "tap_refused": report["tap_refused"],
                "records_lost": sum(word[RECORDS_LOST] for word in words),
                "unsent": sum(word[UNSENT] for word in words), "medium_priority": report["priority"],
                "medium_processors": round(report["processor"] / max(report["ended"], 1e-3), 3),
                "setting_up_processor_seconds": round(setting_up, 3),
                "host_processors": round(max(hosts, 0.0) / max(report["ended"], 1e-3), 3)}


def _ahead() -> tuple[float, float]:
    """By how many s the wall clock, and the clock that runs while the machine sleeps, are ahead of the monotonic one."""
    return (time.time() - time.monotonic(),
            time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC))


def clocks_said(before: tuple[float, float], after: tuple[float, float], devices: bool) -> list[str]:
    """What became of the machine's clocks between two looks, in sentences. `devices`: real ones among the hosts."""
    slept = after[1] - before[1]
    step = after[0] - before[0] - slept  # while it sleeps the wall clock goes on
    said = []
    if slept > SLEPT:
        said.append(f"the machine slept for {slept:.1f} s during the run, which paused"
                    + ("; the real devices did not" if devices else ""))
    if abs(step) > STEP:
        said.append(f"the machine's wall clock was set by {step:+.1f} s during the run; the records do not depend on it, but "
                    "times that other programs noted do")
    return said


def _told(measured: dict[str, Any]) -> list[str]:
    """What is lacking without making the run invalid, in sentences."""
    dropped = measured.get("capture_drops", 0)
    return [f"the captures lack {dropped} frames that nobody read in time"] if dropped else []
