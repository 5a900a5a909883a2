"""[node]: the parts of the node and their timers.

The keys and defaults are those of NodeConfig in node/config.py, written down again because the
rooms may not import each other; tests/emulation/test_config_agrees.py holds the two together.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from topologies.section import Section, Timer


class Node(Section):
    tree: Literal["maodv", "none"] = Field("maodv", description="how the overlay tree is kept")
    reconcile: Literal["strawman", "timed", "notified", "informed", "path"] = Field(
        "timed", description="how subscriptions follow a changed tree"
    )
    strategy: Literal["subscription", "hierarchical", "event", "flood"] = Field(
        "subscription", description="what is spread: subscriptions, those to the root only, or events"
    )
    forwarding: Literal["identity", "covering"] = Field(
        "identity", description="which subscriptions are forwarded"
    )
    recovery: Literal["none", "push", "subscriber_pull", "publisher_pull", "combined"] = Field(
        "none", description="how lost events come back"
    )
    secret: str = Field("", max_length=1024, description="shared key of authenticated datagrams; empty: none")

    hello_interval: Timer = Field(0.5, le=3600, description="s: between two beacons, +-10%")
    hello_losses: int = Field(3, ge=1, le=16, description="missed beacons in a row that end a neighbor")
    hello_up: int = Field(
        3, ge=1, le=16, description="beacons of the last hello_window that begin a neighbor"
    )
    hello_window: int = Field(8, ge=1, le=16, description="beacons remembered")

    rto_initial: Timer = Field(0.3, le=3600, description="s: first retransmission timeout (RFC 6298)")
    rto_min: Timer = Field(0.2, le=3600, description="s: least retransmission timeout")
    rto_max: Timer = Field(0.5, le=3600, description="s: greatest retransmission timeout")
    channel_window: int = Field(32, ge=1, le=64, description="messages in flight on a link")
    channel_queue: int = Field(
        262144, ge=4096, le=2**30, description="bytes: waiting and in flight, per link"
    )
    channel_give_up: Timer = Field(
        1.0, le=3600, description="s: without any acknowledgement that end a link"
    )
    retransmission: bool = Field(
        True, description="of events over tree links; without, they and gossip are sent once"
    )
    ack_delay: float = Field(0.1, ge=0, le=10, description="s: an acknowledgement may wait for company")
    multicast: bool = Field(True, description="one broadcast for several tree neighbors where cheaper")
    base_rate: float = Field(
        6e6, ge=1e3, le=1e11, description="bit/s: of broadcasts; that of [radio] by default"
    )
    data_rate: float = Field(
        24e6, ge=1e3, le=1e11, description="bit/s: of unicasts; that of [radio] by default"
    )

    leader_interval: Timer = Field(2.0, le=3600, description="s: between a leader's beacons down the tree")
    leader_losses: int = Field(2, ge=1, le=1000, description="missed leader beacons that end a parent link")
    request_wait: Timer = Field(0.15, le=60, description="s: replies to a route request are collected")
    request_attempts: int = Field(
        3, ge=1, le=100, description="route requests before an orphan elects itself"
    )
    request_hops: int = Field(8, ge=1, le=64, description="hops that a route request travels on a tree")
    join_wait: Timer = Field(0.5, le=60, description="s: for the answer to a join request")
    merge_wait: Timer = Field(0.3, le=60, description="s: a leader collects offers to merge")

    unsubscription_timer: Timer = Field(
        2.0, le=3600, description="s: T_u, after which what a lost link wanted is withdrawn"
    )
    subscription_timer: Timer = Field(
        2.0, le=3600, description="s: T_s, after which informed tells a new link what it held back"
    )
    activate_wait: Timer = Field(
        0.5, le=3600, description="s: the end of a new link waits for the word of the old one"
    )
    path_wait: Timer = Field(
        3.0, le=3600, description="s: a broker of a reconfiguration path waits for its next message"
    )
    flush: Literal["broadcast", "piggyback", "path"] = Field(
        "broadcast", description="how FLUSH spreads: to all, on subscriptions, along the path"
    )

    gossip_interval: Timer = Field(1.0, le=3600, description="s: between two gossip rounds, +-10%")
    gossip_adaptive: bool = Field(
        False, description="rounds that find nothing to do make the interval longer, up to 16 times"
    )
    gossip_forward: float = Field(0.9, ge=0, le=1, description="P_forward: a broker passes gossip on")
    gossip_subscribers: float = Field(
        0.5, ge=0, le=1, description="combined: share of the rounds that pull from subscribers"
    )
    lost_patience: Timer = Field(30.0, le=3600, description="s: a lost event is asked for")
    cache_bytes: int = Field(262144, ge=0, le=2**30, description="bytes: of events kept for others")
    cache_lifetime: Timer = Field(120.0, le=3600, description="s: they are kept at most")
    cache_eviction: Literal["fifo", "random"] = Field(
        "fifo", description="which of them makes room: the oldest or any"
    )

    digest: bool = Field(True, description="compare tables in beacons and heal them")

    client_buffer: int = Field(
        131072, ge=4096, le=2**30, description="bytes: events held for one roaming client; the oldest are dropped"
    )
    client_age: Timer = Field(
        60.0, le=3600, description="s: events wait for a roaming client, and a broker for one that is away"
    )
    handoff_wait: Timer = Field(
        2.0, le=3600, description="s: a new broker waits for what the old ones hold for a roaming client"
    )
    roam_margin: float = Field(
        0.3, ge=0, le=1, description="share of beacons by which another broker must be heard better ..."
    )
    roam_dwell: Timer = Field(2.0, le=3600, description="s: ... for so long, before a roaming client moves to it")

    traffic_interval: Timer = Field(1.0, le=3600, description="s: between two traffic records")
