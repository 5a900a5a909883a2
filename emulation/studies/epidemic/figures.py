"""The figures on recovery as data: what is swept, which curves there are, which quantity they show.

The axes are those of Costa, Migliavacca, Picco, Cugola, "Epidemic Algorithms for Reliable Content-Based
Publish-Subscribe: An Evaluation" (ICDCS 2004): link error rate, interval between reconfigurations, buffer size, gossip
interval, number of patterns, number of subscribers. We did not have its text, so the values are ours; docs/reproduction.md
says what depends on them. Parameters are those of `roamcast reproduce overlay`; of the figures over radio, a scenario's keys.
"""
from __future__ import annotations

from emulation.studies.evaluation import Given, Panel, Series, Sweep

ALGORITHMS = ("none", "push", "subscriber_pull", "publisher_pull", "combined")
PULLS = ("subscriber_pull", "publisher_pull")

# 100 dispatchers, each with 2 of 70 patterns; an event has 3 letters, so 8 dispatchers want it. Measured are events from
# 1 to 2.5 s, which have 3 to 4.5 s (60 to 90 gossip intervals) to be recovered in while others are published.
BASE: Given = {"available": 70, "patterns": 2, "letters": 3, "subscribers": 1.0, "publish": 5.0, "settled": 0.5, "first": 1.0,
        "last": 2.5, "duration": 5.5, "rate": 0.0, "loss": 0.1, "gossip_interval": 0.05, "cache_bytes": 131072}
# Error-free links, of which some break between 1 and 2.5 s; tables follow by deferred unsubscription.
BREAKING = BASE | {"loss": 0.0, "protocol": "timed"}

LOSS = ("loss", (0.02, 0.05, 0.1, 0.2))
RATE = ("rate", (0.67, 2.0, 5.0, 15.0, 40.0))
BUFFER = ("cache_bytes", (8192, 16384, 32768, 65536, 131072))
GOSSIP = ("gossip_interval", (0.025, 0.05, 0.1, 0.2, 0.4))
PATTERNS = ("available", (18, 35, 70, 140, 280))
SUBSCRIBERS = ("subscribers", (0.1, 0.25, 0.5, 1.0))
FRAMES = ("radio.loss", (0.0, 0.1, 0.2))

DELIVERED, OVERHEAD, SENT = "delivered (%)", "bits beside the events (% of theirs)", "messages of recovery per dispatcher and s"


def curves(*more: Series, names: tuple[str, ...] = ALGORITHMS, key: str = "recovery") -> tuple[Series, ...]:
    return (*(Series(name, {key: name}) for name in names), *more)


def three(figure: str, about: str, sweep: Sweep, xlabel: str, base: Given = BASE, log: bool = False,
          more: tuple[Series, ...] = ()) -> tuple[Panel, ...]:
    """Delivery, and what recovery adds to the traffic in bits and in messages."""
    active = curves(*more, names=ALGORITHMS[1:])
    return (Panel(figure, "-delivery", f"{about}: delivery", "delivery", DELIVERED, sweep, xlabel, curves(*more), base, log),
            Panel(figure, "-bits", f"{about}: overhead", "overhead", OVERHEAD, sweep, xlabel, active, base, log),
            Panel(figure, "-messages", f"{about}: messages", "messages", SENT, sweep, xlabel, active, base, log))


# As topologies/park-30.toml, half as long; an event may come within a minute.
PARK: Given = {"hosts.count": 30, "mobility.model": "random_waypoint", "mobility.area": [600, 600], "mobility.speed": [0.5, 2],
        "mobility.pause": [0, 30], "radio.range": 150, "workload.kinds": 20, "workload.subscriptions": 2,
        "workload.publish_interval": 5, "run.duration": 240, "run.warm_up": 30, "run.deadline": 60.0}
BOUND = Series("bound", {"node.recovery": "none"}, "bound")


def radio(figure: str, about: str, **more: object) -> tuple[Panel, ...]:
    frames, base = "share of frames that the radio loses", PARK | more
    return (Panel(figure, "-delivery", f"{about}: delivery", "delivery", DELIVERED, FRAMES, frames,
                  curves(BOUND, key="node.recovery"), base, seed="run.seed"),
            Panel(figure, "-bytes", f"{about}: all that is sent", "bytes", "byte per host and s", FRAMES, frames,
                  curves(key="node.recovery"), base, seed="run.seed"))


ADAPTIVE = (Series("push, adaptive", {"recovery": "push", "gossip_adaptive": True}),)

PANELS: tuple[Panel, ...] = (
    *three("loss", "Link error rate", LOSS, "share of messages that a link loses"),
    Panel("loss", "-said", "What lossy links deliver, computed", "said", DELIVERED, LOSS, "", curves(names=("none",)), BASE,
          drawn=False),
    Panel("loss", "-round", "Link error rate: bits of a gossip round", "round", "kbit per dispatcher and round", LOSS, "",
          curves(names=ALGORITHMS[1:]), BASE, drawn=False),
    *three("interval", "Interval between reconfigurations", RATE, "reconfigurations a second", BREAKING, log=True, more=ADAPTIVE),
    *three("buffer", "Buffer size", BUFFER, "cache of a dispatcher (byte)", log=True),
    *three("gossip", "Gossip interval", GOSSIP, "gossip interval (s)", log=True),
    Panel("gossip", "-late", "Gossip interval: how late recovered events are", "late", "median (s)", GOSSIP, "gossip interval (s)",
          curves(names=ALGORITHMS[1:]), BASE, log=True),
    *three("patterns", "Number of patterns", PATTERNS, "available patterns", log=True),
    *three("subscribers", "Number of subscribers", SUBSCRIBERS, "share of dispatchers that subscribe"),
    *radio("radio", "MAODV under random waypoint, links that retransmit"),
    *radio("once", "MAODV under random waypoint, events sent once", **{"node.retransmission": False, "radio.retries": 0}),
)
