"""Scenarios that each produce one cause of loss and no other, for the tests of the analysis' judgement.

What is injected does not come from the records: a scenario breaks something at a moment that it names, and publishes at
moments when that alone can keep its events back. So every loss in such a run has the cause of the injection.

Most are of one shape (`fork`): a publisher 0 with a companion 4, and two ways, by 1 and by 3, to the subscribers 1, 2 and 3.
Cuts and restored links leave one of these ways at a time. With a companion, no end of a cut link is alone, and
whoever loses its parent seeks, rather than leads at once.

A link's break is noticed after some 0.2 to 1.1 s (docs/protocols.md), and a new neighbor counts after three
beacons, 0.9 s at the least; the windows of publication keep clear of both.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

Table = dict[str, Any]

FORK = [[0, 0], [80, 60], [160, 0], [80, -60], [-100, 0]]  # m; range 110: 0 hears 1, 3 and 4; 2 hears 1 and 3
ROW = [[100 * host, 0] for host in range(5)]
SETTLED = 15.0  # s until the tree is whole
CYCLE = 20.0  # s from one injection to the next
WANTED = 'kind = "x"'


class Injection(NamedTuple):
    """`scenario`: how many times the injection is repeated -> the tables of a scenario."""

    reason: str
    scenario: Callable[[int], Table]
    detail: str = ""  # a part of it
    real: bool = True  # whether real time and namespaces are exact enough for it
    limit: int | None = None  # of hops, in place of the node's 255
    silence: int | None = None  # the host whose records are taken away


def moments(times: int) -> list[float]:
    return [SETTLED + CYCLE * k for k in range(times)]


def scenario(times: int, positions: list[list[int]], published: Iterable[Table], subscribers: list[int], faults: list[Table] | None = None,
             **tables: Table) -> Table:
    found: Table = {
        "run": {"duration": SETTLED + CYCLE * times, "deadline": 5, "grace": 2, "warm_up": 1, "capture": False,
                "window": [1, SETTLED + CYCLE * times - 5]},
        "mobility": {"model": "static", "positions": positions}, "radio": {"range": 110}, "node": {"replay_window": 0},
        "workload": {"subscribe": [{"hosts": subscribers, "filter": WANTED}], "publish": list(published)},
        "faults": sorted(faults or [], key=lambda fault: fault["at"])}
    for name, table in tables.items():
        found[name] = {**found.get(name, {}), **table}
    return copy.deepcopy(found)


def burst(at: float, until: float, host: int = 0, every: float = 0.01, **event: object) -> Table:
    return {"hosts": [host], "at": round(at, 6), "every": every, "until": round(until, 6), "event": {"kind": "x", **event}}


def at_once(at: float, events: int, **event: object) -> list[Table]:
    """So many events within a millisecond."""
    return [{"hosts": [0], "at": round(at + 0.00002 * n, 6), "event": {"kind": "x", **event}} for n in range(events)]


def link(at: float, action: str, *ends: int) -> Table:
    return {"at": at, "link": list(ends), "action": action}


def flips(times: int, later: float = 0.0) -> list[Table]:
    """At each moment the way that there was breaks, and the other one is there, `later` s after."""
    faults, ways = [link(0, "cut", 0, 3)], [1, 3]
    for t in moments(times):
        faults += [link(t + later, "restore", 0, ways[1]), link(t, "cut", 0, ways[0])]
        ways.reverse()
    return faults


def gaps(times: int, seconds: float) -> list[Table]:
    """The publisher's side is parted from the subscribers for so long before each moment."""
    return [link(0, "cut", 0, 3)] + [fault for t in moments(times) for fault in (link(t - seconds, "cut", 0, 1), link(t, "restore", 0, 1))]


# ---- the radio ----------------------------------------------------------------------------------------------
def partitioned(times: int) -> Table:
    return scenario(times, FORK, (burst(t - 8, t - 7.5, every=0.02) for t in moments(times)), [1, 2, 3], gaps(times, 10))


def apart(times: int) -> Table:
    return scenario(times, FORK, (burst(t - 4, t - 3.5, every=0.02) for t in moments(times)), [1, 2, 3], gaps(times, 10))


# ---- the tree ---------------------------------------------------------------------------------------------------
def in_flight(times: int) -> Table:
    return scenario(times, FORK, (burst(t + 0.01, t + 0.1, every=0.005) for t in moments(times)), [1, 2, 3], flips(times))


def seeking(times: int) -> Table:
    return scenario(times, FORK, (burst(t + 1.05, t + 1.2) for t in moments(times)), [1, 2, 3], flips(times, 0.4),
                    node={"replay_window": 0, "request_attempts": 6})


def unmerged(times: int) -> Table:
    return scenario(times, FORK, (burst(t + 0.05, t + 0.5, every=0.02) for t in moments(times)), [1, 2, 3], gaps(times, 8))


# ---- tables ---------------------------------------------------------------------------------------------------------
def not_spread(times: int) -> Table:
    """A subscription and, in the same millisecond and four hops away, the event that it wants."""
    found = scenario(times, ROW, [], [4], run={"grace": 0})
    found["workload"] = {"subscribe": [{"hosts": [4], "filter": f'kind = "x{t:g}-{n}"', "at": t} for t in moments(times) for n in range(40)],
                         "publish": [{"hosts": [0], "at": t + 0.0002, "event": {"kind": f"x{t:g}-{n}"}} for t in moments(times) for n in range(40)]}
    return found


def held_back(times: int) -> Table:
    """The broker 1 on the way dies, and cannot send ACTIVATE to the new end of the link that takes its place, which waits
    for it and tells nothing of others meanwhile: what is published beyond that link is lost to the hosts behind its end. The
    end itself wants nothing, since its own clients' filters are told at once."""
    faults = [link(0, "cut", 2, 3)]
    for t in moments(times):
        faults += [link(t - 4, "restore", 2, 3), {"at": t, "host": 1, "action": "crash"}, {"at": t + 10, "host": 1, "action": "start"},
                   link(t + 14, "cut", 2, 3)]
    published = [burst(t + 4, t + 6, host=host, every=0.04) for t in moments(times) for host in (0, 2)]
    return scenario(times, FORK[:4], published, [0, 2], faults,
                    node={"replay_window": 0, "reconcile": "informed", "activate_wait": 8, "digest": False})


def held_beyond(times: int) -> Table:
    """The same, published one host further on: its neighbor has not withdrawn yet what the dead broker's side wanted."""
    found = held_back(times)
    found["mobility"]["positions"] = [*FORK[:4], [260, 0]]
    found["node"] |= {"unsubscription_timer": 12}
    for row in found["workload"]["publish"]:
        row["hosts"] = [4 if host == 2 else host for host in row["hosts"]]
    return found


def hops(times: int) -> Table:
    return scenario(times, ROW, (burst(t, t + 1, every=0.04) for t in moments(times)), [3, 4])


# ---- queues -----------------------------------------------------------------------------------------------------------
def full_channel(times: int) -> Table:
    return scenario(times, ROW, [event for t in moments(times) for event in at_once(t, 50, text="y" * 900)], [4],
                    node={"replay_window": 0, "channel_queue": 4096})


def full_radio(times: int) -> Table:
    """Events that are sent once, each a datagram, and room for two frames."""
    return scenario(times, ROW[:2], [event for t in moments(times) for event in at_once(t, 50, text="y" * 900)], [1], radio={"range": 110, "queue": 2},
                    node={"replay_window": 0, "retransmission": False})


FLOOD = {"tree": "none", "strategy": "flood"}


def too_large(times: int) -> Table:
    return scenario(times, ROW, (burst(t, t + 1, every=0.05, text="y" * 800, more="y" * 800) for t in moments(times)), [2, 4], node=FLOOD)


# ---- frames --------------------------------------------------------------------------------------------------------------
def bad_radio(times: int) -> Table:
    """Sent once over a link that loses one frame in ten. On a busy machine that is enough to lose a link, too."""
    return scenario(times, ROW[:3], (burst(t, t + 9, every=0.05) for t in moments(times)), [1, 2], radio={"range": 110, "retries": 0, "links": [
        {"from": 0, "to": 1, "loss": 0.1}]}, node={"replay_window": 0, "retransmission": False})


def bad_broadcasts(times: int) -> Table:
    return scenario(times, ROW[:3], (burst(t, t + 4, every=0.05) for t in moments(times)), [1, 2], radio={"range": 110, "loss": 0.4}, node=FLOOD)


# ---- hosts -----------------------------------------------------------------------------------------------------------------
def next_down(times: int) -> Table:
    """The broker on the way dies, and another way is there at once."""
    faults = [link(0, "cut", 0, 3)]
    for t in moments(times):
        faults += [{"at": t, "host": 1, "action": "crash"}, link(t, "restore", 0, 3), {"at": t + 8, "host": 1, "action": "start"}, link(t + 12, "cut", 0, 3)]
    return scenario(times, FORK, (burst(t + 0.01, t + 0.15, every=0.004) for t in moments(times)), [2, 3], faults)


def publisher_down(times: int) -> Table:
    """An instant after it published, before a frame can have left."""
    faults = [fault for t in moments(times) for fault in ({"at": t, "host": 0, "action": "crash"}, {"at": t + 5, "host": 0, "action": "start"})]
    return scenario(times, FORK, ({"hosts": [0], "at": t - 0.00001, "event": {"kind": "x", "n": n}} for t in moments(times) for n in range(20)), [1, 2, 3], faults)


# ---- time ---------------------------------------------------------------------------------------------------------------------
def late_replay(times: int) -> Table:
    found = in_flight(times)
    found["node"] = {}
    found["run"] |= {"deadline": 0.5}
    return found


def late_frames(times: int) -> Table:
    return scenario(times, ROW, (burst(t, t + 3, every=0.05) for t in moments(times)), [4], radio={"range": 110, "delay": 0.03}, run={"deadline": 0.1})


# ---- clients that roam ------------------------------------------------------------------------------------------------------------
def away(times: int) -> Table:
    """A device (4) that no broker reaches; what waits for it is given up after a second."""
    faults = [fault for t in moments(times) for fault in (link(t, "cut", 0, 4), link(t + 7, "restore", 0, 4))]
    return scenario(times, FORK, (burst(t + 3, t + 5, host=2, every=0.05) for t in moments(times)), [4], faults, run={"deadline": 6},
                    node={"client_age": 1}, workload={"roam": [4]})


# ---- records -------------------------------------------------------------------------------------------------------------------------
def unrecorded(times: int) -> Table:
    return hops(times)


INJECTIONS = {
    "partitioned": Injection("partitioned", partitioned),
    "apart": Injection("apart", apart),
    "in flight": Injection("link_broke", in_flight, "a link broke while it carried the event"),
    "seeking": Injection("seeking", seeking),
    "unmerged": Injection("unmerged", unmerged),
    "not spread": Injection("stale_route", not_spread, "did not know that it was wanted", real=False),
    "held back": Injection("stale_route", held_back, "a reconciler held that back"),
    "held beyond": Injection("stale_route", held_beyond, "a reconciler held that back"),
    "hops": Injection("stale_route", hops, "limit of hops", real=False, limit=2),
    "full channel": Injection("overflow", full_channel, "a queue on the way was full"),
    "full radio": Injection("overflow", full_radio, "the radio's queue was full", real=False),
    "too large": Injection("overflow", too_large, "too large for a broadcast"),
    "bad radio": Injection("radio", bad_radio, "sent once over a link", real=False),
    "bad broadcasts": Injection("radio", bad_broadcasts, "no broadcast came through"),
    "next down": Injection("node_down", next_down, "the next host on its way was down"),
    "publisher down": Injection("node_down", publisher_down, "a host went down with it", real=False),
    "late replay": Injection("late", late_replay, "by a replay"),
    "late frames": Injection("late", late_frames, "in its publisher's order"),
    "away": Injection("handoff", away),
    "unrecorded": Injection("unknown", unrecorded, limit=2, real=False, silence=1),
}
