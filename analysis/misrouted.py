"""Events that went where nobody wanted them: the messages that the papers call misrouted.

cugola-frey-murphy-picco-dynamic-topology, section V-C.1: a message of an event is misrouted when neither the
broker that gets it nor any behind it has a client that wants the event. Here a broker wants what it delivered, and
what it took in for a client that roams, which is its client until its session is over: the event may have come to
the client by another broker, which fetched it, or not at all. A message that was lost on its link is not known to be
misrouted, nor are those that led to it.
"""
from __future__ import annotations

from collections import deque

from analysis.devices import Attached
from analysis.event import Event

Step = tuple[int, str | None, str]  # host, link, end: see count


def messages(event: Event, attached: Attached | None = None, sessions: Attached | None = None) -> tuple[int, int]:
    """(messages, misrouted ones) of an event over tree links in the whole run, retransmissions not counted.

    `attached` and `sessions` are given where clients roam: what comes to a client was wanted by its broker, and by those
    that held its subscriptions meanwhile; what a client publishes begins at its broker.
    """
    ways: list[Step] = [(near, link, "sent") for _, near, _, to in event.of("forwarded") for link in to]
    ways += [(near, link, "lost") for _, near, link, _ in event.of("event_dropped")]
    if attached is None or sessions is None:
        ways += [(node, None, "wanted") for _, node, *_ in event.of("delivered")]
        return count(event.namesake, ways)
    for t, node, _, _, _, published in event.of("delivered"):
        brokers = [one.broker for one in attached.of(node) if one.up <= t <= one.down] or [node]
        # brokers that it reached for a client that had it by another
        brokers += [one.broker for one in sessions.of(node) if one.up <= t and one.down >= published]
        ways += [(broker, None, "wanted") for broker in brokers]
    ways += [(broker, None, "wanted") for _, broker, _, _ in event.of("buffer_dropped")]  # for one that never had it
    ways += [(near, None, "begun") for _, near, link, _ in event.of("forwarded") if link is None]
    return count(event.namesake, ways)


def count(source: int, ways: list[Step]) -> tuple[int, int]:
    """(messages, misrouted ones) of one event that `source` published, from (host, link, end).

    end is `sent` or `lost` over the link, or `wanted` at the host, or `begun` there (at the source where there is none
    such). Messages that came again are misrouted too.
    """
    sent = {(near, link) for near, link, end in ways if end == "sent" and link is not None}
    lost = sent & {(near, link) for near, link, end in ways if end == "lost" and link is not None}
    beside: dict[int, list[str]] = {}
    for near, link in sorted(sent - lost):
        beside.setdefault(near, []).append(link)
    begun = dict.fromkeys([host for host, _, end in ways if end == "begun"]) or {source: None}
    came: dict[int, tuple[int, str] | None] = dict(begun)  # host -> the message that brought the event there
    queue = deque(begun)
    while queue:
        near = queue.popleft()
        for link in beside.get(near, ()):
            far = _far(link, near)
            if far not in came:
                came[far] = (near, link)
                queue.append(far)
    useful = set(lost)
    for host in [host for host, _, end in ways if end == "wanted"] + [near for near, _ in lost]:
        while (message := came.get(host)) is not None and message not in useful:
            useful.add(message)
            host = message[0]
    return len(sent), len(sent - useful)


def _far(link: str, near: int) -> int:
    """The other end of a link, written `low-high.nonce`."""
    low, high = map(int, link.partition(".")[0].split("-"))
    return high if near == low else low
