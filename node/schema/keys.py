"""Written by `python -m node.schema.typed` from schema/config.toml: change it there, and write this again."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a node's configuration with their defaults."""

    tree: str = "maodv"  # how the overlay tree is kept
    reconcile: str = "timed"  # how subscriptions follow a changed tree
    strategy: str = "subscription"  # how far subscriptions and events travel
    forwarding: str = "identity"  # which subscriptions are forwarded
    recovery: str = "none"  # how lost events come back
    secret: str = ""  # shared key of authenticated datagrams; empty: none
    hello_interval: float = 0.5  # s: between two beacons, +-10%
    hello_losses: int = 3  # missed beacons in a row that end a neighbor
    hello_up: int = 3  # beacons of the last hello_window that make a neighbor
    hello_window: int = 8  # beacons remembered per neighbor
    rto_initial: float = 0.3  # s: first retransmission timeout (RFC 6298)
    rto_min: float = 0.2  # s: minimum retransmission timeout
    rto_max: float = 0.5  # s: maximum retransmission timeout
    channel_window: int = 32  # messages in flight on a link
    channel_queue: int = 262144  # bytes: limit per link on messages queued and in flight
    channel_give_up: float = 1.0  # s: a link ends after this long without an acknowledgement
    retransmission: bool = True  # retransmit events over tree links; otherwise they and gossip are sent once
    ack_delay: float = 0.1  # s: an acknowledgement waits at most this long for other messages to ride on
    multicast: bool = True  # one broadcast for several tree neighbors, if cheaper
    base_rate: float = 6000000.0  # bit/s: rate of broadcasts; by default that of [radio]
    data_rate: float = 24000000.0  # bit/s: rate of unicasts; by default that of [radio]
    leader_interval: float = 2.0  # s: between a leader's beacons down the tree
    leader_losses: int = 2  # missed leader beacons that end a parent link
    request_wait: float = 0.15  # s: collect replies to a route request for this long
    request_attempts: int = 3  # route requests before an orphan elects itself
    request_hops: int = 8  # hops that a route request travels on a tree
    join_wait: float = 0.5  # s: wait for the answer to a join request
    merge_wait: float = 0.3  # s: a leader collects offers to merge for this long
    replay_window: float = 10.0  # s: events that a link which opened may have missed are sent over it, as far back as this; 0: none
    unsubscription_timer: float = 2.0  # s: T_u, after which subscriptions of a lost link are withdrawn
    subscription_timer: float = 2.0  # s: T_s, after which informed tells a new link what it held back
    activate_wait: float = 0.5  # s: the end of a new link waits this long for ACTIVATE from the old one
    path_wait: float = 3.0  # s: a broker of a reconfiguration path waits this long for its next message
    flush: str = "broadcast"  # how FLUSH spreads: to all, on subscriptions, along the path
    gossip_interval: float = 1.0  # s: between two gossip rounds, +-10%
    gossip_adaptive: bool = False  # rounds without work lengthen the interval, up to 16 times
    gossip_forward: float = 0.9  # P_forward: probability that a broker passes gossip on
    gossip_subscribers: float = 0.5  # combined: share of the rounds that pull from subscribers
    lost_patience: float = 30.0  # s: keep asking for a lost event this long
    cache_bytes: int = 262144  # bytes: cache of events for others
    cache_lifetime: float = 120.0  # s: longest time in the cache
    cache_eviction: str = "fifo"  # which cached event makes room: the oldest or a random one
    digest: bool = True  # compare tables by digests in beacons, and repair them
    client_buffer: int = 131072  # bytes: events held for one roaming client; the oldest are dropped
    client_age: float = 60.0  # s: a broker keeps events for a roaming client, and the session of one that is away, this long
    handoff_wait: float = 2.0  # s: a new broker waits this long for what the old ones hold for a roaming client
    roam_margin: float = 0.3  # share of beacons by which a roaming client must hear another broker better ...
    roam_dwell: float = 2.0  # s: ... for this long before it moves there
    traffic_interval: float = 1.0  # s: between two traffic records
