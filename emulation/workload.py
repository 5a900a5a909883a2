"""Who subscribes to what and who publishes what and when: the scenario's table [workload].

Every host has one local client, `app`. Kinds of events, subscriptions and times are drawn from
streams keyed by (seed, "workload", host), never from the nodes' own, so that two protocols, or
two worlds, meet the same workload.
"""
from __future__ import annotations

from collections.abc import Callable

from emulation import chance

CLIENT = "app"


class Workload:
    """Drives the clients on the nodes of one run.

    `clock` has now() and call_at(); `brokers()` gives the broker of a host or None while it is
    down. A host that is down publishes nothing, and its client subscribes again when it returns.
    """

    def __init__(self, clock, workload, hosts: int, seed: int, end: float, broker_of: Callable) -> None:
        self.published = 0
        self.delivered = 0
        self._clock = clock
        self._workload = workload
        self._seed = seed
        self._end = end
        self._broker_of = broker_of
        self._filters: list[dict[str, None]] = [{} for _ in range(hosts)]  # wanted now, by host
