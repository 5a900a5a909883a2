"""Reconfiguration path: one message walks the path and moves the entries of the lost link onto it.

cugola-frey-murphy-picco-dynamic-topology, section IV-C and figure 11; numbers in brackets are the figure's.
The tree names the path RP = head + tail: the initiator (near old end), ..., near new end | far new end, ...,
far old end. REC(rId, Padd, Pdel) goes along it. On the head each dispatcher [1] enters Padd as wanted by the
next one and takes Pdel, which the previous one withdraws, out. The last of the head [2] tells the new link
its table and [3] sends REC over it. The far new end [4] unsubscribes what it does not want of Padd; [5] REC
goes on along the tail behind the subscriptions; the far old end [6] processes the unsubscriptions of the
lost link and [7] sends FLUSH behind them; when that is back at the far new end, [8] the new link is told
what else is wanted.

In the terms of wanted and told (routing/forwarding.py): the sender of REC *assumes* that its receiver has
told it Padd; the receiver, on REC, counts Padd as told and then corrects the difference as after any change.
An UNSUB that crossed the REC is older than that and is ignored until [1c] RECACK [1d] (the `ignore` table).
So a table is right wherever the walk ends: a receiver that knows nothing of the walk any more corrects
everything.

The paper's protocol does not withstand overlapping reconfigurations, so a path is reserved first (reservation.py).
Refused, it is done by informed link activation: the initiator tells the far old end so (PATH_REFUSED), and the
ACTIVATEs of both tell the new ends. Where a path breaks and REC had begun, its links exchange snapshots of all that was
told.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from node import wire
from node.filters import Filter
from node.ids import LinkId
from node.memory import Memory
from node.reconcile import ANNOUNCED, NEW_ENDS, Path, Replacement, Routing, Surroundings, crossing
from node.reconcile.flush import Flush
from node.reconcile.new_end import NewEnd
from node.reconcile.old_end import OldEnd
from node.reconcile.pending import Pending
from node.reconcile.reservation import Course, Reservation
from node.routing.table import FilterHash
from node.seams import LinkMessages, RoutedMessages

MAX_ADD = 1024  # filters in a REC (schema/messages.toml)
MAX_BYTES = 40000  # of them, so that REC is one message of a channel
SUBSTITUTED = 64  # replacements that a far old end remembers


class Substitute(NamedTuple):
    """The link that takes the place of a lost one, and the path between that one's ends."""

    new: LinkId
    path: Path


class ReconfigurationPath:
    def __init__(self, around: Surroundings[Routing]) -> None:
        self._station, self._channels, self._courier, self._routing, _ = around
        self._env, self._config = self._station.env, self._station.config
        self._me = self._station.me.node
        self._announced: Memory[LinkId, Replacement] = Memory(ANNOUNCED)  # by the new link
        # at a far old end, by rid: what informed link activation would do; PATH_REFUSED that overtook the tree's notice
        self._substituted: Memory[LinkId, Substitute] = Memory(SUBSTITUTED)
        self._refusals: Memory[LinkId, Path] = Memory(SUBSTITUTED)
        self.pending = Pending(around)
        self.flush = Flush(around, self._flushed)
        self.old_end = OldEnd(around)
        self.new_end = NewEnd(around, self.flush)
        self.reservation = Reservation(around, self.new_end, self._reserved, self._refused, self._broken)
        self.link_messages: LinkMessages = {
            **self.flush.link_messages, wire.Flush: self._flush_received, **self.reservation.link_messages,
            wire.Rec: self._rec_received, wire.RecAck: self._rec_ack_received}
        self.routed_messages: RoutedMessages = {**self.new_end.routed_messages, wire.PathRefused: self._refusal_received}

    # ---- the tree's notices ---------------------------------------------------------------------
    def lost(self, link: LinkId) -> None:
        """Also a leaf's entries wait, they are the first Padd; and for REC rather than T_u."""
        self.new_end.forget(link)
        self.pending.defer(link, self._config.path_wait, leaf_too=True)
        self._announced.pop(link, None)
        if link in self.flush:  # this end noticed the loss later than others had repaired it
            self._flushed(link)
        self._substituted.pop(link, None)
        self.reservation.lost(link)

    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId, path: Path | None, role: str) -> None:
        """substituteLinkTo(n, RP, rId)"""
        if role in NEW_ENDS:
            self._announced.remember(new, Replacement(rid, path))
        elif role == "old_near" and path is not None:
            self._initiate(rid, new, path)
        elif role == "old_near":
            self.pending.restart(rid, self._config.unsubscription_timer)
        elif role == "old_far" and path is not None:
            if self._refusals.pop(rid, None) == path:
                self._fall_back(rid, new, path)
            else:
                self._substituted.remember(rid, Substitute(new, path))

    def gained(self, link: LinkId) -> None:
        replacement = self._announced.pop(link, None)
        if replacement is None:
            self._routing.add_link(link)
        elif replacement.path is None:
            self.new_end.wait(link, replacement, self._config.activate_wait)
            self.new_end.activate(link, (), "no_path")
        else:
            self.new_end.wait(link, replacement, self._config.path_wait)
            self.reservation.opened(link)
            self.new_end.listen(replacement.rid)

    def abandoned(self, rid: LinkId) -> None:
        self.pending.process(rid, "abandoned")

    # ---- the path is to be had, or not: then by informed link activation ----------------------------
    def _initiate(self, rid: LinkId, new: LinkId, path: Path) -> None:
        filters = self._routing.kept(rid)
        turn = crossing(path, new)
        if turn is None or path[0] != self._me:
            self._refused(rid, new, path, "unknown")
        elif len(filters) > MAX_ADD or sum(len(wanted.key) for wanted in filters) > MAX_BYTES:
            self._refused(rid, new, path, "large")
        elif self.reservation.course is not None:
            self._refused(rid, new, path, "busy")
        else:
            self.reservation.begin(Course(rid, new, path, 0, turn, None))

    def _refused(self, rid: LinkId, new: LinkId, path: Path, reason: str) -> None:
        """At the initiator: go on by informed link activation, and have the far old end do the same."""
        self._env.record("path_refused", rid=str(rid), reason=reason)
        self._courier.send(path, wire.PathRefused(rid))
        self._fall_back(rid, new, path)

    def _refusal_received(self, route: Path, message: wire.PathRefused) -> None:
        rid = LinkId(*message.rid)
        substitute = self._substituted.get(rid)
        if substitute is None:
            self._refusals.remember(rid, route)
        elif route == substitute.path:
            del self._substituted[rid]
            self._fall_back(rid, *substitute)
        else:
            self._station.dropped("bad_path")

    def _fall_back(self, rid: LinkId, new: LinkId, path: Path) -> None:
        self.pending.restart(rid, self._config.unsubscription_timer)
        if new in self.new_end:
            self.new_end.activate(new, (), "refused")
        elif self._me in new[:2]:
            self.new_end.words.to_self(rid)  # for when the link opens
        else:
            self.old_end.inform(rid, new, path)

    def _broken(self, course: Course, links: list[LinkId], reason: str) -> None:
        self.pending.restart(course.rid, self._config.unsubscription_timer)
        if course.begun:
            self.new_end.activate(course.new, (), "broken")
            for link in links:
                self._routing.send_snapshot(link)
        elif course.prev is None:
            self._refused(course.rid, course.new, course.path, "timeout" if reason == "timeout" else "broken")

    # ---- REC ----------------------------------------------------------------------------------------
    def _reserved(self, course: Course) -> None:
        """[1a] at the initiator, REC to self: Padd is what the lost link wanted."""
        self._rec_on_head(course, self._routing.kept(course.rid), ())

    def _rec_received(self, link: LinkId, message: wire.Rec) -> None:
        course = self.reservation.course
        if course is None or course.rid != message.rid or course.prev != link or course.begun:
            self._rec_astray(link, message)
        elif course.on_head():
            self.reservation.wait_on(course)
            self._channels.send([link], wire.RecAck(course.rid))  # [1c]
            self._rec_on_head(course, message.add, message.remove)
        else:
            self.reservation.wait_on(course)
            course.begun = True
            if course.is_far_new_end():
                self._rec_over_new_link(course, message.add)
            if not course.last():
                self.reservation.forth(course, wire.Rec(course.rid, (), ()))  # [5]
            else:
                self._rec_at_last(course)

    def _rec_on_head(self, course: Course, add: Sequence[Filter], remove: Sequence[FilterHash]) -> None:
        """On a dispatcher of the head: Padd is wanted by the next one, Pdel no longer by the previous one."""
        routing, rid, prev, onward = self._routing, course.rid, course.prev, course.next
        assert onward is not None, "the head does not end the path"
        course.begun = True
        if prev is not None:
            routing.was_assumed(prev, add)
        # with "ignore": also of the new link, whose far end may have given up waiting and told already
        routing.assume(onward, add, rid)
        if prev is not None:
            routing.erase(prev, remove)  # subTab[n] - Pdel
            routing.prune(prev)
        else:
            routing.let_go(rid, flush=False)
            self.pending.take(rid, "rec")
        withdrawn: tuple[FilterHash, ...] = ()
        if course.at < course.turn:
            # P'del: what only the lost link had wanted there
            withdrawn = routing.take_withdrawn(onward, MAX_ADD)
        routing.flush()
        if course.at == course.turn:
            self.new_end.tell_all(course.new)  # [2]
        self._channels.send([onward], wire.Rec(rid, tuple(add), withdrawn))  # [1b], [3]
        routing.mark(onward)
        if prev is not None:
            routing.mark(prev)

    def _rec_over_new_link(self, course: Course, add: Sequence[Filter]) -> None:
        """On the far new end: of Padd, what nobody here wants is unsubscribed [4]; the rest is storedPadd."""
        self._channels.send([course.new], wire.RecAck(course.rid))
        self._routing.was_assumed(course.new, add)
        self._routing.prune(course.new)
        self._routing.flush()
        self._routing.mark(course.new)

    def _rec_at_last(self, course: Course) -> None:
        """On the far old end: the lost link's unsubscriptions at last, and FLUSH behind them."""
        self.pending.process(course.rid, "rec")  # [6]
        self._substituted.pop(course.rid, None)
        self.flush.first_time(course.rid)
        if course.is_far_new_end():
            self._finish(course)  # [7] FLUSH to self
            return
        self.reservation.leave(course)
        if self._config.flush == "path":
            self.reservation.back(course, wire.Flush(course.rid, course.path))  # [7]
        else:
            self.flush.spread(course.rid, (), None)  # [7]

    def _rec_astray(self, link: LinkId, message: wire.Rec) -> None:
        """REC of a path that was given up here: what its sender assumes is put right at once."""
        self._channels.send([link], wire.RecAck(message.rid))
        self._routing.was_assumed(link, message.add)
        self._routing.erase(link, message.remove)
        self._routing.prune(link)
        self._routing.flush()
        self._routing.send_snapshot(link, asked=True)
        self._routing.mark(link)

    def _rec_ack_received(self, link: LinkId, message: wire.RecAck) -> None:
        rid = LinkId(*message.rid)
        self._routing.assured(link, rid)  # [1d]
        course = self.reservation.course
        if course is not None and course.rid == rid and course.next == link and course.on_head():
            self.reservation.leave(course)

    # ---- FLUSH --------------------------------------------------------------------------------------
    def _flush_received(self, link: LinkId, message: wire.Flush) -> None:
        course = self.reservation.course
        if course is None or course.rid != message.rid or course.next != link or not course.begun:
            self.flush.received(link, message)
        elif course.is_far_new_end():
            self.flush.first_time(course.rid)
            self._finish(course)
        else:
            self.flush.received(link, message)
            self.reservation.leave(course)

    def _flushed(self, rid: LinkId) -> None:
        self.old_end.remember(rid)
        self.pending.process(rid, "flush")

    def _finish(self, course: Course) -> None:
        """[8] on the far new end: tell the new link what is wanted and not in storedPadd."""
        self._env.record("path_done", rid=str(course.rid))
        self.new_end.tell_all(course.new)
        self.reservation.leave(course)
