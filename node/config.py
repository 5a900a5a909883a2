"""Everything about a node that a scenario may choose, with its default and unit.

The scenario's table [node] has the same keys, defaults and bounds (topologies/node.py writes them
down again, because the rooms may not import each other; a test holds the two together).
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

TIMER = (1e-3, 3600.0)  # s; below, a node would do nothing but wake up
RATE = (1e3, 1e11)  # bit/s
SECRET = 1024  # characters at most
LONG = 30.0  # s, beyond which hardly anybody waits on purpose

# What a number may be, both ends included.
LIMITS: dict[str, tuple[float, float]] = {
    "hello_interval": TIMER,
    "hello_losses": (1, 16),
    "hello_up": (1, 16),
    "hello_window": (1, 16),
    "rto_initial": TIMER,
    "rto_min": TIMER,
    "rto_max": TIMER,
    "channel_window": (1, 64),
    "channel_queue": (4096, 2**30),
    "channel_give_up": TIMER,
    "ack_delay": (0.0, 10.0),
    "base_rate": RATE,
    "data_rate": RATE,
    "leader_interval": TIMER,
    "leader_losses": (1, 1000),
    "request_wait": (1e-3, 60.0),
    "request_attempts": (1, 100),
    "request_hops": (1, 64),
    "join_wait": (1e-3, 60.0),
    "merge_wait": (1e-3, 60.0),
    "unsubscription_timer": TIMER,
    "subscription_timer": TIMER,
    "activate_wait": TIMER,
    "path_wait": TIMER,
    "client_buffer": (4096, 2**30),
    "client_age": TIMER,
    "handoff_wait": TIMER,
    "roam_margin": (0.0, 1.0),
    "roam_dwell": TIMER,
    "gossip_interval": TIMER,
    "gossip_forward": (0.0, 1.0),
    "gossip_subscribers": (0.0, 1.0),
    "lost_patience": TIMER,
    "cache_bytes": (0, 2**30),
    "cache_lifetime": TIMER,
    "traffic_interval": TIMER,
}


@dataclass(frozen=True, slots=True)
class NodeConfig:
    # parts
    tree: str = "maodv"  # or "none"
    reconcile: str = "timed"  # or "strawman", "notified", "informed", "path"; see docs/protocols.md
    strategy: str = "subscription"  # routing: subscription, hierarchical, event or flood
    forwarding: str = "identity"  # or "covering"
    recovery: str = "none"  # of lost events: or "push", "subscriber_pull", "publisher_pull", "combined"
    secret: str = ""  # shared key of authenticated datagrams; empty: none

    # neighbors
    hello_interval: float = 0.5  # s, +-10% jitter
    hello_losses: int = 3  # missed beacons in a row that end a neighbor (more where its beacons get lost)
    hello_up: int = 3  # beacons of the last `hello_window` needed to begin one
    hello_window: int = 8  # beacons remembered (at most 16)

    # reliable channels
    rto_initial: float = 0.3  # s, RFC 6298 with these bounds
    rto_min: float = 0.2  # s
    rto_max: float = 0.5  # s
    channel_window: int = 32  # messages in flight (at most 64)
    channel_queue: int = 262144  # bytes waiting and in flight, per link
    channel_give_up: float = 1.0  # s without an acknowledgement of anything in flight
    retransmission: bool = True  # of events; without, they and gossip are sent once, beside the channels
    ack_delay: float = 0.1  # s an acknowledgement may wait for company, less up to half by chance
    multicast: bool = True  # one broadcast for several tree neighbors where cheaper
    base_rate: float = 6e6  # bit/s, at which the radio sends broadcasts
    data_rate: float = 24e6  # bit/s, at which it sends unicasts

    # tree
    leader_interval: float = 2.0  # s between a leader's beacons down the tree
    leader_losses: int = 2  # missed leader beacons that make a parent link dead
    request_wait: float = 0.15  # s that replies to a route request are collected
    request_attempts: int = 3  # route requests before an orphan elects itself
    request_hops: int = 8  # hops that a route request travels on a tree
    join_wait: float = 0.5  # s for the answer to a join request
    merge_wait: float = 0.3  # s that a leader collects offers to merge

    # routing
    digest: bool = True  # compare tables in HELLO and heal them

    # reconciliation
    unsubscription_timer: float = 2.0  # s, T_u: what a lost link wanted is withdrawn at the latest
    subscription_timer: float = 2.0  # s, T_s: `informed` tells what it held back
    activate_wait: float = 0.5  # s that a new link's end waits for the word of the old one
    path_wait: float = 3.0  # s that a broker of a reconfiguration path waits for its next message
    flush: str = "broadcast"  # how FLUSH spreads: or "piggyback" (on subscriptions), "path" (where known)

    # recovery of lost events
    gossip_interval: float = 1.0  # s between two gossip rounds, +-10% jitter
    gossip_adaptive: bool = False  # rounds that find nothing to do make the interval longer, up to 16 times
    gossip_forward: float = 0.9  # P_forward: a broker passes gossip on
    gossip_subscribers: float = 0.5  # combined: a round pulls from subscribers, and from the publisher otherwise
    lost_patience: float = 30.0  # s that an event is asked for once its loss was noticed
    cache_bytes: int = 262144  # of events kept for others
    cache_lifetime: float = 120.0  # s that they are kept at most
    cache_eviction: str = "fifo"  # or "random"

    # roaming clients
    client_buffer: int = 131072  # bytes held for one device, and by a device of what it publishes; oldest dropped first
    client_age: float = 60.0  # s that events wait for a device, and that a device that is away is waited for
    handoff_wait: float = 2.0  # s that a new broker waits for what the old ones hold
    roam_margin: float = 0.3  # share of beacons by which another broker must be heard better ...
    roam_dwell: float = 2.0  # s ... for so long, before a device moves to it

    # records
    traffic_interval: float = 1.0  # s between two traffic records

    def faults(self) -> Iterator[tuple[str, str, str]]:
        """(key, what was found, what it takes) of each number out of bounds and each pair that cannot be."""
        for key, (low, high) in LIMITS.items():
            value = getattr(self, key)
            if not low <= value <= high:
                yield key, f"{value:g}", f"a number from {low:g} to {high:.10g}"
        if len(self.secret) > SECRET:
            yield "secret", f"{len(self.secret)} characters", f"at most {SECRET}"
        if self.hello_up > self.hello_window:
            found = f"{self.hello_up} of the last {self.hello_window} beacons"
            yield "hello_up", found, "at most hello_window"
        if not self.rto_min <= self.rto_initial <= self.rto_max:
            within = f"a number between rto_min = {self.rto_min:g} and rto_max = {self.rto_max:g}"
            yield "rto_initial", f"{self.rto_initial:g}", within

    def doubts(self) -> Iterator[tuple[str, str]]:
        """(key, what comes of it) of each timer with which next to nothing happens: in order, and hardly meant."""
        first = self.hello_interval * self.hello_up
        if first > LONG:
            yield "hello_interval", f"{self.hello_up} beacons at {self.hello_interval:g} s begin a neighbor, so nobody is one for {first:g} s"
        if self.tree == "none":
            return
        for key, then in (("leader_interval", "a tree is told so seldom of its leader"), ("request_wait", "a seeker waits so long before it joins"),
                          ("merge_wait", "two trees that meet wait so long to become one")):
            if (seconds := getattr(self, key)) > LONG:
                yield key, f"{seconds:g} s: {then}"
