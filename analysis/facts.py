"""What is counted of a run, in the groups from which metrics.py computes: by the analysis, and by tally.py without Spark.

A run that cannot give a group (no client roams, nobody knows the radio) has none of that type.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


class Delivered(NamedTuple):
    """Expected (event, client) pairs: the client at another host than the publisher, its host up throughout."""

    expected: int
    delivered: int  # in time
    reachable: float  # that the radio allowed by the deadline; nan where the radio is not known
    beyond: int  # delivered in time though the radio on record did not allow it, or only later
    latency: np.ndarray | None  # percentiles 0, 1, .. 100 of those in time, s; None if there are none
    hops: float  # of those in time, added up
    recovered: int  # of those in time, that recovery or replay delivered


class Beside(NamedTuple):
    """What does not count as expected."""

    local_expected: int  # pairs at the publisher's own host
    local_delivered: int
    node_down: int  # pairs whose subscriber's host was down
    unrecorded: int  # publications without a record


class Lost(NamedTuple):
    reasons: Mapping[str, int]  # losses.REASONS -> pairs; a reason without a loss may be missing


class Breaches(NamedTuple):
    """Deliveries that break a safety property (correctness.py)."""

    twice: int
    unpublished: int
    unsubscribed: int


class Sent(NamedTuple):
    """What nodes sent, of all types or of one; nan where no record tells."""

    deliveries: float  # at other hosts than the publisher's, of the whole run
    messages: float
    bytes: float
    hosts: int  # that left records
    seconds: float  # in which they sent it


class Families(NamedTuple):
    sent: Mapping[str, Sent]  # by family of messages


class Cost(NamedTuple):
    """What else the deliveries cost."""

    normalized: float  # overhead.cost; nan where there is no tree
    lost_links: int
    event_messages: int  # over tree links
    misrouted: int  # of these
    duplicates: int
    airtime: float  # s; nan where no medium tells
    seconds: float  # over which all this was counted


class Signals(NamedTuple):
    levels: np.ndarray  # dBm, one for each frame received; not empty


class Roaming(NamedTuple):
    """Of clients that roam."""

    attachments: pd.DataFrame  # roaming.moves; not empty
    control: int  # messages of all brokers and devices
    dropped: int  # events that buffers gave up

    @property
    def moves(self) -> pd.DataFrame:
        """The attachments that were not the first of their client, nor to the same broker."""
        return self.attachments[self.attachments["moved"]]


class Recovery(NamedTuple):
    """Of lost events that came back."""

    found: pd.DataFrame  # recovery.recoveries
    spent: int  # bytes of gossip, requests, answers and counters
    bytes: int  # of all messages


class Repairs(NamedTuple):
    joined: int  # repairs that ended by joining


class Tree(NamedTuple):
    merges: int
    elections: int
    gained: int  # links
    seeking: np.ndarray  # percentiles 0, 1, .. 100 of the seconds until joined; empty if there are none


class Waits(NamedTuple):
    """Of the outages whose ends the radio still connected. Seconds; nan where there are none, `median` and `p95`
    also where too many were cut short to tell."""

    counted: int
    median: float
    p95: float
    worst: float  # the longest seen, cut short or not
    prompt: float  # share over within outages.PROMPT
    noticed: float  # median from the loss until the first end closed its link
    cut_short: int  # of `counted`, those that did not end in one tree
    apart: int  # not in `counted`: the ends were not connected by radio either
    returned: int  # not in `counted`: the radio came back before anyone closed the link


class Shape(NamedTuple):
    """Pairs of hosts, sampled over the run: arrays of one length."""

    radio_pairs: np.ndarray  # connected by radio
    tree_pairs: np.ndarray  # and in one tree


def share(part: float, whole: float) -> float:
    """part / whole, nan when there is no whole."""
    return part / whole if whole else math.nan


def percentile(of: np.ndarray | None, place: int) -> float:
    """One of percentiles 0, 1, .. 100; nan where there are none."""
    return math.nan if of is None or not len(of) else float(of[place])
