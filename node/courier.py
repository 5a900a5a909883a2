"""Messages off the tree, along a list of ids: the papers' "out-of-band" messages of reconciliation.

Each broker of the list hands the message to the next by node/relay.py, which repeats it until it is
acknowledged; nobody repeats it end to end, so it may get lost, and whoever waits for it has a timer.
"""
from __future__ import annotations

from node import wire
from node.ids import Peer
from node.parts import Parts
from node.routes import Route, place
from node.seams import CourierNotices, HopMessages, Host, OneHop


class Courier:
    def __init__(self, station: Host, relay: OneHop, notices: CourierNotices) -> None:
        self._station = station
        self._me = station.me.node
        self._relay = relay
        self._notices = notices
        self._parts = Parts(station.env.now, lambda: station.dropped("incomplete"))
        self.relayed_messages: HopMessages = {wire.Routed: self._routed}

    def send(self, route: Route, message: wire.Message) -> None:
        """From this node, the first of the route, to the last."""
        for part in self._parts.cut(message):
            self._pass_on(1, wire.Routed(route, part))

    def _pass_on(self, at: int, message: wire.Routed) -> None:
        self._relay.send(message.route[at], message, lambda: self._station.dropped("not_relayed"))

    def _routed(self, sender: Peer, message: wire.Routed) -> None:
        route = message.route
        at = place(route, self._me, sender.node)
        if not at:
            self._station.dropped("bad_route")
        elif at + 1 < len(route):
            self._pass_on(at + 1, message)
        elif type(message.message) is wire.Part:
            try:
                whole = self._parts.put(route[0], message.message)
            except wire.Malformed as error:
                self._station.dropped(error.reason)
                return
            if whole is not None:
                self._notices.routed_message(route, whole)
        else:
            self._notices.routed_message(route, message.message)
