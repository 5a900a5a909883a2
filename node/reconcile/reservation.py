"""RESERVE walks a reconfiguration path: a broker takes part in one reconfiguration at a time, until it is over.

The protocol of cugola-frey-murphy-picco-dynamic-topology, section IV-C, does not withstand overlapping
reconfigurations. Here RESERVE goes along the path first, each broker of it that is free takes part, and RESERVED comes
back from the last, or from the first that refuses, with its reason. If a link of the path is lost, or nothing comes for
`path_wait`, its brokers pass BROKEN to both sides and give up.

While a broker takes part, a new link of its that is told nothing yet waits for the course and not for ACTIVATE.
"""
from __future__ import annotations

from collections.abc import Callable

from node import wire
from node.environment import Timer
from node.ids import LinkId
from node.reconcile import Path, Routing, Surroundings, crossing
from node.reconcile.new_end import NewEnd
from node.routes import place
from node.seams import LinkMessages


class Course:
    """A reconfiguration as a broker of its path sees it, while it takes part."""

    __slots__ = ("at", "begun", "new", "next", "path", "prev", "rid", "timer", "turn")

    def __init__(self, rid: LinkId, new: LinkId, path: Path, at: int, turn: int, prev: LinkId | None) -> None:
        self.rid, self.new, self.path = rid, new, path
        self.at = at  # of this broker in the path
        self.turn = turn  # of the near new end
        self.prev = prev  # links toward either end of the path; None beyond it
        self.next: LinkId | None = None
        self.begun = False  # REC was here
        self.timer: Timer | None = None

    def last(self) -> bool:
        return self.at + 1 == len(self.path)

    def on_head(self) -> bool:
        return self.at <= self.turn

    def is_far_new_end(self) -> bool:
        return self.at == self.turn + 1


class Reservation:
    """Of one broker. `reserved(course)` and `refused(rid, new, path, reason)` are called at the initiator; `broken(course,
    links, reason)` wherever a path breaks, with those of its links that are left here."""

    def __init__(self, around: Surroundings[Routing], new_end: NewEnd, reserved: Callable[[Course], None],
                 refused: Callable[[LinkId, LinkId, Path, str], None],
                 broken: Callable[[Course, list[LinkId], str], None]) -> None:
        self._channels, self._routing = around.channels, around.routing
        self._env, self._config = around.station.env, around.station.config
        self._me = around.station.me.node
        self._new_end = new_end
        self._reserved, self._refused, self._broken = reserved, refused, broken
        self.course: Course | None = None
        self.link_messages: LinkMessages = {
            wire.Reserve: self._reserve_received, wire.Reserved: self._reserved_received,
            wire.Broken: self._broken_received}

    def __len__(self) -> int:
        """Reconfigurations that the broker takes part in: one or none."""
        return int(self.course is not None)

    # ---- the links of the path ----------------------------------------------------------------------
    def opened(self, link: LinkId) -> None:
        """A new link is told nothing yet; RESERVE may have waited for it."""
        if self.course is not None and self.course.new == link:
            self._reserve_next(self.course)

    def lost(self, link: LinkId) -> None:
        course = self.course
        if course is not None and link in (course.prev, course.next):
            self._break(course, "link", None)
        elif course is not None and link == course.rid and course.last() and not course.begun:
            self.back(course, wire.Reserved(course.rid, ""))  # it had waited for this

    def forth(self, course: Course, message: wire.Message) -> None:
        """Send to the next broker of the path."""
        if course.next is not None:
            self._channels.send([course.next], message)

    def back(self, course: Course, message: wire.Message) -> None:
        """Send to the broker before this one."""
        if course.prev is not None:
            self._channels.send([course.prev], message)

    # ---- taking part ----------------------------------------------------------------------------------
    def begin(self, course: Course) -> None:
        """At the initiator."""
        self.take_part(course)
        self._reserve_next(course)

    def take_part(self, course: Course) -> None:
        self.course = course
        self._new_end.pause(course.new)  # the course's own timer runs
        self.wait_on(course)

    def wait_on(self, course: Course) -> None:
        """Something came: the wait begins anew."""
        if course.timer is not None:
            course.timer.cancel()
        course.timer = self._env.call_later(
            self._config.path_wait, lambda: self._break(course, "timeout", None))

    def leave(self, course: Course) -> None:
        """This broker's part is over; a new link that is told nothing yet waits for ACTIVATE again."""
        if course.timer is not None:
            course.timer.cancel()
        if self.course is course:
            self.course = None
        self._new_end.resume(course.new)

    # ---- RESERVE ----------------------------------------------------------------------------------------
    def _reserve_next(self, course: Course) -> None:
        """Pass RESERVE on; at the near new end once the new link is open."""
        if course.at == course.turn:
            if course.new not in self._routing.links:
                return
            course.next = course.new
            self.take_part(course)
        else:
            onward = course.path[course.at + 1]
            course.next = next((link for link in self._routing.links
                                if link.far_end(self._me) == onward and link != course.rid), None)
        if course.next is None:
            self._answer(course, "gone")
        else:
            self.forth(course, wire.Reserve(course.rid, course.new, course.path))

    def _reserve_received(self, link: LinkId, message: wire.Reserve) -> None:
        rid, new, path = LinkId(*message.rid), LinkId(*message.new), message.path
        at = place(path, self._me, link.far_end(self._me))
        turn = crossing(path, new)
        if turn is None or not at \
                or (at == turn + 1) != (link == new) or {path[0], path[-1]} != {rid.low, rid.high}:
            self._channels.send([link], wire.Reserved(rid, "unknown"))
        elif self.course is not None:
            self._channels.send([link], wire.Reserved(rid, "busy"))
        else:
            course = Course(rid, new, path, at, turn, link)
            self.take_part(course)
            if not course.last():
                self._reserve_next(course)
            elif rid not in self._routing.links:
                self._channels.send([link], wire.Reserved(rid, ""))

    def _answer(self, course: Course, refused: str) -> None:
        """Pass the answer to RESERVE back; at the initiator, act on it."""
        if refused:
            self.leave(course)
        if course.prev is not None:
            self.back(course, wire.Reserved(course.rid, refused))
        elif refused:
            self._refused(course.rid, course.new, course.path, refused)
        else:
            self._env.record("path_reserved", rid=str(course.rid), path=list(course.path))
            self._reserved(course)

    def _reserved_received(self, link: LinkId, message: wire.Reserved) -> None:
        course = self.course
        if course is not None and course.rid == message.rid and course.next == link and not course.begun:
            self.wait_on(course)
            self._answer(course, message.refused)

    # ---- BROKEN -------------------------------------------------------------------------------------------
    def _broken_received(self, link: LinkId, message: wire.Broken) -> None:
        course = self.course
        if course is not None and course.rid == message.rid and link in (course.prev, course.next):
            course.begun = course.begun or message.begun
            self._break(course, "told", link)
        elif message.begun:  # this broker's part was over; the link is compared all the same
            self._routing.send_snapshot(link, asked=True)

    def _break(self, course: Course, reason: str, teller: LinkId | None) -> None:
        if self.course is not course:
            return
        self._env.record("path_broken", rid=str(course.rid), begun=course.begun, reason=reason)
        self.leave(course)
        links = [link for link in (course.prev, course.next) if link is not None and link in self._routing.links]
        onward = [link for link in links if link != teller]
        if onward:
            self._channels.send(onward, wire.Broken(course.rid, course.begun))
        self._broken(course, links, reason)
