"""What a run of the overlay is made of: Table I of the paper, and what the paper leaves open.

cugola-frey-murphy-picco-dynamic-topology, section V-A. The defaults are Table I's; `events` is off by
default (publish = 0), as in the paper's figures on subscription tables.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from node.schema import config
from node.schema.keys import Keys

NODE = Keys()  # with its defaults
PROTOCOLS = tuple(config.keys()["reconcile"].choices)
STRATEGIES = ("subscription", "event")  # the others need a root, or a radio
TREES = {"balanced": "as flat as its degree allows",
         "random": "the older name of recursive: each dispatcher joins one of those before it that have room",
         "recursive": "each dispatcher joins one of those before it that have room",
         "labelled": "any tree of numbered dispatchers is equally likely (Pruefer's code, none above the degree)",
         "kruskal": "two dispatchers of different parts, equally likely among those with room, join until all are one"}
REPLACEMENTS = {"uniform": "any link that reconnects, equally likely",
                "shared": "any link that shares an old end with it, equally likely",
                "seeker": "one that an old end, equally likely, finds on the other side",
                "any_two": "any link between any two parts that there are, equally likely",
                "end_any": "one that an old end, equally likely, finds in any other part that there is"}
MEMORIES = ("told", "none")
ENTRIES = ("taken", "kept")
NUMBERINGS = ("chance", "root", "leaves")
FLUSHES = (*config.keys()["flush"].choices, "none")
RECOVERY = ("recovery", *config.used("recovery"))  # keys that a node's configuration has too


MOST_CHANGES = 1e7  # reconfigurations times dispatchers: each looks for a path through them
MOST_SUBSCRIPTIONS = 1e6  # they are all drawn before the run
WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


class OverlayError(ValueError):
    """A run that cannot be; the text names the key, what was found and what would do."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """One run. Times in s, rates in 1/s, sizes in bit."""

    protocol: str = "strawman"
    strategy: str = "subscription"  # how events find their way
    flush: str = "broadcast"  # how FLUSH spreads; none: informed on its timers alone
    memory: str = "told"  # of what neighbors were told: as the node has it; none: figures 2, 7, 8 and 9 to the letter
    entries: str = "taken"  # of a lost link: out of the table at once; kept: when they are processed
    seed: int = 1
    # Table I
    dispatchers: int = 100  # N
    degree: int = 4  # delta, at most
    available: int = 96  # Pi, patterns
    patterns: int = 7  # pi, per subscriber
    letters: int = 9  # mu, of an event
    subscribers: float = 0.2  # sigma_s, share of the dispatchers
    publish: float = 0.0  # epsilon, per dispatcher; Table I has 1, figures 13 to 20 and 27 to 29 0
    rate: float = 3.0  # rho, reconfigurations a second
    repair: float = 0.1  # t_rep
    unsubscription_timer: float = 0.15  # T_u
    subscription_timer: float = 0.15  # T_s
    # section V-A, in prose
    tree: str = "balanced"  # at the start: TREES
    duration: float = 8.0
    first: float = 3.0  # reconfigurations begin ...
    last: float = 7.0  # ... and end: later ones do not start
    settled: float = 2.0  # the stable core subscribes before, and not after
    core: float = 1.0  # share of the dispatchers that are the stable core
    bandwidth: float = 1e7
    loss: float = 0.0  # rate at which a link loses events, which nobody repeats
    # costa-epidemic-reliability: the keys of a node's configuration; the paper gives no values
    recovery: str = "none"
    gossip_interval: float = 0.1  # s
    gossip_adaptive: bool = NODE.gossip_adaptive
    gossip_forward: float = NODE.gossip_forward  # P_forward
    gossip_subscribers: float = NODE.gossip_subscribers
    lost_patience: float = NODE.lost_patience  # s
    cache_bytes: int = NODE.cache_bytes
    cache_lifetime: float = NODE.cache_lifetime  # s
    cache_eviction: str = NODE.cache_eviction
    # not said by the papers
    replacement: str = "seeker"  # which link takes a broken one's place: graph.Graph.replacement
    numbering: str = "chance"  # who has low numbers; a reconfiguration path begins at the lower old end
    churn: float = 1.0  # (un)subscriptions a second of each subscriber outside the core
    pattern_bits: float = 1000.0  # of a pattern in SUB, UNSUB, REC, ACTIVATE
    event_bits: float = 1000.0
    control_bits: float = 100.0  # of a message without patterns: Table II's tenth
    number_bits: float = 32.0  # of a number in recovery's messages and tags: sizes.numbers

    def __post_init__(self) -> None:
        for key, choices in (("protocol", PROTOCOLS), ("strategy", STRATEGIES), ("flush", FLUSHES),
                             ("recovery", config.keys()["recovery"].choices),
                             ("cache_eviction", config.keys()["cache_eviction"].choices), ("tree", TREES), ("replacement", REPLACEMENTS),
                             ("numbering", NUMBERINGS), ("memory", MEMORIES), ("entries", ENTRIES)):
            if getattr(self, key) not in choices:
                raise OverlayError(f"{key}: found {getattr(self, key)!r}; one of {', '.join(choices)}")
        for key, least, most in (
                ("seed", 0, 2**32 - 1), ("dispatchers", 4, 5000), ("degree", 3, 64), ("available", 1, 4096),
                ("patterns", 1, self.available), ("letters", 1, 64), ("subscribers", 0, 1), ("publish", 0, 1000),
                ("loss", 0, 1),
                ("rate", 0, 1000), ("repair", 0.001, 10), ("unsubscription_timer", 0, 60),
                ("subscription_timer", 0, 60), ("duration", 0.5, 600), ("first", 0, self.duration),
                ("last", self.first, self.duration), ("settled", 0, self.first), ("core", 0, 1),
                ("bandwidth", 1e3, 1e12), ("churn", 0, 1000), ("pattern_bits", 1, 1e6), ("event_bits", 1, 1e6),
                ("control_bits", 1, 1e6), ("number_bits", 1, 1e6)):
            found = getattr(self, key)
            if not least <= found <= most:  # nor is nan
                raise OverlayError(f"{key}: found {_shown(found)}; from {_shown(least)} to {_shown(most)}")
        for key in RECOVERY:
            if (bounds := config.keys()[key].range) and not bounds[0] <= getattr(self, key) <= bounds[1]:
                raise OverlayError(f"{key}: found {_shown(getattr(self, key))}; from {_shown(bounds[0])} to {_shown(bounds[1])}")
        self._bounded()
        for key, what, cure in config.mismatches(config.defaults() | {"strategy": self.strategy, "recovery": self.recovery}):
            raise OverlayError(f"{key}: found {what}; {cure}".replace("node.", ""))
        self._literal()
        if self.strategy != "subscription" and self.protocol != "strawman":
            raise OverlayError(f"protocol: found {self.protocol!r} with strategy {self.strategy!r}, which has no "
                               "subscription tables to reconcile; leave protocol at strawman")

    def _literal(self) -> None:
        """Readings of the figures that shut each other out, or would change nothing."""
        if self.flush == "none" and self.protocol != "informed":
            raise OverlayError(f"flush: found 'none' with protocol {self.protocol!r}; informed alone has timers for all that "
                               "FLUSH does, and notified without FLUSH is timed")
        if self.memory == "none" and (self.protocol == "path" or self.strategy != "subscription"):
            what = "protocol 'path', whose figure 11 says itself what is remembered" if self.protocol == "path" else (
                f"strategy {self.strategy!r}, which tells nobody of subscriptions")
            raise OverlayError(f"memory: found 'none' with {what}; leave memory at told")
        if self.entries == "kept" and (self.memory != "none" or self.protocol == "strawman" or self.recovery != "none"):
            raise OverlayError(f"entries: found 'kept' with protocol {self.protocol!r}, memory {self.memory!r}, recovery "
                               f"{self.recovery!r}; it goes with timed, notified or informed, memory none and no recovery")

    def _bounded(self) -> None:
        """Each key in its bounds may still make a run that takes days, or all memory, before its first message."""
        changes = self.rate * (self.last - self.first)
        if changes * self.dispatchers > MOST_CHANGES:
            raise OverlayError(f"rate: found {_shown(self.rate)}, so {changes:,.0f} reconfigurations among {self.dispatchers} "
                               f"dispatchers; at most {MOST_CHANGES / self.dispatchers:,.0f}: a lower rate, or last nearer to first")
        subscribers = self.subscribers * self.dispatchers
        drawn = subscribers * (self.patterns + (1 - self.core) * self.churn * self.duration)
        if drawn > MOST_SUBSCRIPTIONS:
            raise OverlayError(f"patterns: found {self.patterns}, with churn {_shown(self.churn)} {drawn:,.0f} subscriptions; at most "
                               f"{MOST_SUBSCRIPTIONS:,.0f}: fewer patterns, subscribers or dispatchers, or less churn")

    @classmethod
    def of(cls, values: Mapping[str, object]) -> Parameters:
        """From keys and values, as a batch has them; texts are converted. OverlayError for what does not fit."""
        kinds: dict[str, type[Any]] = {field.name: type(field.default) for field in dataclasses.fields(cls)}
        chosen: dict[str, Any] = {}
        for key, value in values.items():
            if key not in kinds:
                near = get_close_matches(key, kinds, 1, 0.5)
                meant = f"did you mean {near[0]}?" if near else f"known: {', '.join(kinds)}"
                raise OverlayError(f"{key}: no such parameter; {meant}")
            kind = kinds[key]
            if kind is bool and isinstance(value, str):
                value = {"true": True, "false": False}.get(value, value)
            try:
                chosen[key] = kind(value)
                exact = kind is str or isinstance(value, str) or value == chosen[key]
            except (TypeError, ValueError, OverflowError):
                exact = False
            if not exact or isinstance(value, bool) != (kind is bool):
                raise OverlayError(f"{key}: found {value!r}; {WANTED[kind]}")
        return cls(**chosen)

    def as_dict(self) -> dict[str, object]:
        return dataclasses.asdict(self)


def _shown(number: float) -> str:
    """As a person would write it: a whole number with all its digits."""
    return str(number) if isinstance(number, int) else f"{number:.15g}"
