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

The paper's protocol does not withstand overlapping reconfigurations. Here RESERVE first walks the path, and a
broker takes part in one reconfiguration at a time. Refused, it is done by informed.py: the initiator tells
the far old end so (PATH_REFUSED), and the ACTIVATEs of both tell the new ends. If a link of the path is
lost, or nothing comes for `path_wait`, its brokers pass BROKEN to both sides and give up; where REC had
begun, the links of the path exchange snapshots of all that was told.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from node import wire
from node.environment import Timer
from node.filters import Filter
from node.ids import LinkId
from node.memory import Memory
from node.reconcile import Path, Routing, Surroundings, crossing
from node.reconcile.informed import Informed
from node.routes import place
from node.routing.table import FilterHash

MAX_ADD = 1024  # filters in a REC (schema/messages.toml)
MAX_BYTES = 40000  # of them, so that REC is one message of a channel
SUBSTITUTED = 64  # replacements that a far old end remembers


class Substitute(NamedTuple):
    """The link that takes the place of a lost one, and the path between that one's ends."""

    new: LinkId
    path: Path


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


class ReconfigurationPath(Informed):
    def __init__(self, around: Surroundings[Routing]) -> None:
        super().__init__(around)
        self._course: Course | None = None
        # at a far old end, by rid: what informed.py would do; PATH_REFUSED that overtook the tree's notice
        self._substituted: Memory[LinkId, Substitute] = Memory(SUBSTITUTED)
        self._refusals: Memory[LinkId, Path] = Memory(SUBSTITUTED)
        self.link_messages |= {wire.Reserve: self._reserve_received, wire.Reserved: self._reserved_received,
                               wire.Rec: self._rec_received, wire.RecAck: self._rec_ack_received,
                               wire.Broken: self._broken_received}
        self.routed_messages |= {wire.PathRefused: self._refusal_received}

    # ---- the tree's notices ---------------------------------------------------------------------
    def _manage_broken_link(self, link: LinkId, wait: float, leaf_too: bool = False) -> None:
        """Also a leaf's entries wait, they are the first Padd; and for REC rather than T_u."""
        super()._manage_broken_link(link, self._config.path_wait, leaf_too=True)

    def lost(self, link: LinkId) -> None:
        super().lost(link)
        self._substituted.pop(link, None)
        course = self._course
        if course is not None and link in (course.prev, course.next):
            self._break(course, "link", None)
        elif course is not None and link == course.rid and course.last() and not course.begun:
            self._back(course, wire.Reserved(course.rid, ""))  # it had waited for this

    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId, path: Path | None, role: str) -> None:
        """substituteLinkTo(n, RP, rId)"""
        if role == "old_near" and path is not None:
            self._initiate(rid, new, path)
        elif role == "old_far" and path is not None and self._refusals.pop(rid, None) == path:
            self._fall_back(rid, new, path)
        elif role == "old_far" and path is not None:
            self._substituted.remember(rid, Substitute(new, path))
        else:
            if role == "old_near":
                self._restart(rid)
            super().replaced(rid, lost, new, path, role)

    def gained(self, link: LinkId) -> None:
        replacement = self._announced.get(link)
        if replacement is None or replacement.path is None:
            super().gained(link)
            return
        del self._announced[link]
        self._await(link, replacement, self._config.path_wait)
        course = self._course
        if course is not None and course.new == link:
            self._reserve_next(course)  # it had waited for this
        self._try_words(replacement.rid)

    # ---- reserving the brokers of the path --------------------------------------------------------
    def _initiate(self, rid: LinkId, new: LinkId, path: Path) -> None:
        filters = self._routing.kept(rid)
        turn = crossing(path, new)
        reason = ""
        if turn is None or path[0] != self._me:
            reason = "unknown"
        elif len(filters) > MAX_ADD or sum(len(wanted.key) for wanted in filters) > MAX_BYTES:
            reason = "large"
        elif self._course is not None:
            reason = "busy"
        if reason or turn is None:
            self._refused(rid, new, path, reason)
        else:
            self._reserve_next(self._take_part(Course(rid, new, path, 0, turn, None)))

    def _take_part(self, course: Course) -> Course:
        self._course = course
        waiting = self._waiting.get(course.new)
        if waiting is not None:
            waiting.timer.cancel()  # the course's own runs
        self._wait_on(course)
        return course

    def _wait_on(self, course: Course) -> None:
        if course.timer is not None:
            course.timer.cancel()
        course.timer = self._env.call_later(
            self._config.path_wait, lambda: self._break(course, "timeout", None))

    def _on(self, course: Course, message: wire.Message) -> None:
        """Send to the next broker of the path."""
        if course.next is not None:
            self._channels.send([course.next], message)

    def _back(self, course: Course, message: wire.Message) -> None:
        """Send to the broker before this one."""
        if course.prev is not None:
            self._channels.send([course.prev], message)

    def _leave(self, course: Course) -> None:
        """This broker's part is over; a new link that is told nothing yet waits for ACTIVATE again."""
        if course.timer is not None:
            course.timer.cancel()
        if self._course is course:
            self._course = None
        waiting = self._waiting.get(course.new)
        if waiting is not None:
            self._await(course.new, waiting.replacement, self._config.activate_wait)

    def _reserve_next(self, course: Course) -> None:
        """Pass RESERVE on; at the near new end once the new link is open."""
        if course.at == course.turn:
            if course.new not in self._routing.links:
                return
            course.next = course.new
            self._take_part(course)
        else:
            onward = course.path[course.at + 1]
            course.next = next((link for link in self._routing.links
                                if link.far_end(self._me) == onward and link != course.rid), None)
        if course.next is None:
            self._answer(course, "gone")
        else:
            self._on(course, wire.Reserve(course.rid, course.new, course.path))

    def _reserve_received(self, link: LinkId, message: wire.Reserve) -> None:
        rid, new, path = LinkId(*message.rid), LinkId(*message.new), message.path
        at = place(path, self._me, link.far_end(self._me))
        turn = crossing(path, new)
        if turn is None or not at \
                or (at == turn + 1) != (link == new) or {path[0], path[-1]} != {rid.low, rid.high}:
            self._channels.send([link], wire.Reserved(rid, "unknown"))
        elif self._course is not None:
            self._channels.send([link], wire.Reserved(rid, "busy"))
        else:
            course = self._take_part(Course(rid, new, path, at, turn, link))
            if not course.last():
                self._reserve_next(course)
            elif rid not in self._routing.links:
                self._channels.send([link], wire.Reserved(rid, ""))

    def _answer(self, course: Course, refused: str) -> None:
        """Pass the answer to RESERVE back; at the initiator, act on it."""
        if refused:
            self._leave(course)
        if course.prev is not None:
            self._back(course, wire.Reserved(course.rid, refused))
        elif refused:
            self._refused(course.rid, course.new, course.path, refused)
        else:
            self._env.record("path_reserved", rid=str(course.rid), path=list(course.path))
            add = self._routing.kept(course.rid)
            self._rec_on_head(course, add, ())  # [1a] REC to self: Pdel is what the lost link wanted

    def _reserved_received(self, link: LinkId, message: wire.Reserved) -> None:
        course = self._course
        if course is not None and course.rid == message.rid and course.next == link and not course.begun:
            self._wait_on(course)
            self._answer(course, message.refused)

    # ---- a path that is not to be had: informed.py --------------------------------------------------
    def _refused(self, rid: LinkId, new: LinkId, path: Path, reason: str) -> None:
        """At the initiator: go on by informed link activation, and have the far old end do the same."""
        self._env.record("path_refused", rid=str(rid), reason=reason)
        self._courier.send(path, wire.PathRefused(rid))
        self._fall_back(rid, new, path)

    def _refusal_received(self, route: Path, message: wire.PathRefused) -> None:
        rid = LinkId(*message.rid)
        replacement = self._substituted.get(rid)
        if replacement is None:
            self._refusals.remember(rid, route)
        elif route == replacement.path:
            del self._substituted[rid]
            self._fall_back(rid, *replacement)
        else:
            self._station.dropped("bad_path")

    def _fall_back(self, rid: LinkId, new: LinkId, path: Path) -> None:
        self._restart(rid)
        if new in self._waiting:
            self._activate(new, (), "refused")
        elif self._me in new[:2]:
            word = self._word_of(rid)  # an ACTIVATE to self, for when the link opens
            word.clear()
            word[-1] = ()
        else:
            self._inform(rid, new, path)

    # ---- REC ----------------------------------------------------------------------------------------
    def _rec_received(self, link: LinkId, message: wire.Rec) -> None:
        course = self._course
        if course is None or course.rid != message.rid or course.prev != link or course.begun:
            self._rec_astray(link, message)
        elif course.on_head():
            self._wait_on(course)
            self._channels.send([link], wire.RecAck(course.rid))  # [1c]
            self._rec_on_head(course, message.add, message.remove)
        else:
            self._wait_on(course)
            course.begun = True
            if course.at == course.turn + 1:
                self._rec_over_new_link(course, message.add)
            if not course.last():
                self._on(course, wire.Rec(course.rid, (), ()))  # [5]
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
            pending = self._pending.pop(rid, None)
            if pending is not None:
                pending.timer.cancel()
                self._env.record("unsubscriptions_processed", rid=str(rid), cause="rec")
        withdrawn: tuple[FilterHash, ...] = ()
        if course.at < course.turn:
            # P'del: what only the lost link had wanted there
            withdrawn = routing.take_withdrawn(onward, MAX_ADD)
        routing.flush()
        if course.at == course.turn:
            waiting = self._waiting.pop(course.new, None)
            if waiting is not None:
                waiting.timer.cancel()
            routing.release(course.new)  # [2]
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
        self._process_pending(course.rid, "rec")  # [6]
        self._substituted.pop(course.rid, None)
        self._flushed.first_time(course.rid)
        if course.at == course.turn + 1:
            self._finish(course)  # [7] FLUSH to self
            return
        self._leave(course)
        if self._config.flush == "path":
            self._back(course, wire.Flush(course.rid, course.path))  # [7]
        else:
            self._spread_flush(course.rid, (), None)  # [7]

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
        course = self._course
        if course is not None and course.rid == rid and course.next == link and course.on_head():
            self._leave(course)

    def _flush_received(self, link: LinkId, message: wire.Flush) -> None:
        course = self._course
        if course is None or course.rid != message.rid or course.next != link or not course.begun:
            super()._flush_received(link, message)
        elif course.at == course.turn + 1:
            self._flushed.first_time(course.rid)
            self._finish(course)
        else:
            super()._flush_received(link, message)
            self._leave(course)

    def _finish(self, course: Course) -> None:
        """[8] on the far new end: tell the new link what is wanted and not in storedPadd."""
        self._env.record("path_done", rid=str(course.rid))
        waiting = self._waiting.pop(course.new, None)
        if waiting is not None:
            waiting.timer.cancel()
        self._leave(course)
        self._routing.release(course.new)

    # ---- a path that breaks ---------------------------------------------------------------------------
    def _broken_received(self, link: LinkId, message: wire.Broken) -> None:
        course = self._course
        if course is not None and course.rid == message.rid and link in (course.prev, course.next):
            course.begun = course.begun or message.begun
            self._break(course, "told", link)
        elif message.begun:  # this broker's part was over; the link is compared all the same
            self._routing.send_snapshot(link, asked=True)

    def _break(self, course: Course, reason: str, teller: LinkId | None) -> None:
        if self._course is not course:
            return
        self._env.record("path_broken", rid=str(course.rid), begun=course.begun, reason=reason)
        self._leave(course)
        links = [link for link in (course.prev, course.next) if link is not None and link in self._routing.links]
        onward = [link for link in links if link != teller]
        if onward:
            self._channels.send(onward, wire.Broken(course.rid, course.begun))
        self._restart(course.rid)
        if course.begun:
            self._activate(course.new, (), "broken")
            for link in links:
                self._routing.send_snapshot(link)
        elif course.prev is None:
            self._refused(course.rid, course.new, course.path, "timeout" if reason == "timeout" else "broken")
