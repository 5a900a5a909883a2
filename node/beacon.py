"""The three forms of a beacon: HELLO says all, NEWS what is new, BEAT that nothing is.

In park-30 nine of ten beacons say what the one before said, and a beacon that says all has 84 bytes, a BEAT 22
(docs/lab/beacons.md). NEWS and BEAT carry a check of all that is so now, and whoever does not come to the same check
has missed something: it says so in its own next beacon (MISSED), and the sender's next one is a HELLO. So what a
receiver believes never rests on which beacons came, and an answer takes no datagram of its own.

A neighbor that is heard no more is not told so by an answer, because it hears no question: a list that became shorter
is said in TOLD beacons on end.
"""
from __future__ import annotations

from hashlib import blake2s

from node import wire
from node.ids import Epoch, NodeId

TURN = 16  # short beacons are numbered modulo this
TOLD = 3  # beacons on end that say a list that lacks who was in it
WHOLE = 64  # beacons after which all is said again, unasked

Listing = tuple[tuple[NodeId, Epoch], ...]  # whom a node hears
Beacon = wire.Hello | wire.News | wire.Beat


def check(hello: wire.Hello) -> int:
    """16 bits of all that a HELLO says, but for its number."""
    return int.from_bytes(blake2s(wire.encoded(hello._replace(sequence=0)), digest_size=2).digest(), "big")


class Said:
    """What a node said last, for the next beacon to leave out."""

    def __init__(self) -> None:
        self.asked = False  # somebody has missed something
        self._hello: wire.Hello | None = None
        self._check = 0
        self._whole = 0  # beacons left until one says all, unasked
        self._listed = 0  # beacons left that say the list

    def form(self, hello: wire.Hello) -> Beacon:
        """The beacon that says this to those who know what was said before."""
        before, self._hello = self._hello, hello
        if before is None or before[1:] != hello[1:]:
            self._check = check(hello)
        self._whole -= 1
        # who is new in the list knows nothing yet; a list that rotates is another one each time
        if before is None or self.asked or self._whole <= 0 or before.interval != hello.interval \
                or rotates(before) or rotates(hello) or not set(hello.heard) <= set(before.heard):
            self.asked, self._whole, self._listed = False, WHOLE, 0
            return hello
        if before.heard != hello.heard:
            self._listed = TOLD
        standing = standing_of(hello) if standing_of(hello) != standing_of(before) else None
        digests = hello.digests if hello.digests != before.digests else None
        heard = hello.heard if self._listed else None
        self._listed = max(self._listed - 1, 0)
        if heard is None and standing is None and digests is None:
            return wire.Beat(hello.sequence % TURN, self._check)
        return wire.News(hello.sequence % TURN, heard, standing, digests, self._check)


def rotates(hello: wire.Hello) -> bool:
    """Whether it names only some of those who are heard."""
    return hello.hearing > len(hello.heard)


def standing_of(hello: wire.Hello) -> tuple[NodeId, int, bool]:
    return hello.leader, hello.depth, hello.seeking


class Known:
    """What one neighbor is known to say."""

    __slots__ = ("hello", "_check")

    def __init__(self) -> None:
        self.hello: wire.Hello | None = None  # None: not known, something was missed
        self._check = -1  # of `hello`; -1: not computed yet

    def whole(self, hello: wire.Hello) -> None:
        """A HELLO has come."""
        if self.hello is None or self.hello[1:] != hello[1:]:
            self._check = -1
        self.hello = hello

    def learn(self, message: wire.News | wire.Beat) -> None:
        """A short beacon has come. The sequence number of `hello` stays that of the last HELLO."""
        hello = self.hello
        if hello is None:
            return
        changed = self._check < 0
        if type(message) is wire.News:
            new = hello
            if message.heard is not None:
                new = new._replace(heard=message.heard, hearing=len(message.heard))
            if message.standing is not None:
                leader, depth, seeking = message.standing
                new = new._replace(leader=leader, depth=depth, seeking=seeking)
            if message.digests is not None:
                new = new._replace(digests=message.digests)
            changed = changed or new != hello
            hello = new
        if changed:
            self._check = check(hello)
        self.hello = hello if self._check == message.check else None
