"""Mutants of node/links.py and node/channel.py."""
from __future__ import annotations

from tests.mutants import Mutant


def _in(file: str, name: str, old: str, new: str, does: str, equivalent: str = "") -> Mutant:
    return Mutant(name, f"node/{file}.py", old, new, does, equivalent)


MUTANTS = [
    # ---- what is sent and acknowledged
    _in("channel", "cumulative off by one", "if s < expected or", "if s <= expected or", "an ACK acknowledges one more than has come"),
    _in("channel", "selective off by one", "beyond >> s - expected - 1 & 1", "beyond >> s - expected & 1", "`beyond` is read one place too far"),
    _in("channel", "ACK from the future", "if expected > self.next_sequence:", "if False:", "an ACK of what was never sent counts"),
    _in("channel", "window of one more", "self.next_sequence - oldest < self._window", "self.next_sequence - oldest <= self._window",
        "one more is in flight than the far end can name"),
    _in("channel", "Karn's rule", "if flight.tries == 1:\n                if latest", "if True:\n                if latest", "a repetition counts as a round trip"),
    _in("channel", "no backoff", "self.timeout = min(self.timeout * 2, self._most)", "pass", "the timeout does not double"),
    _in("channel", "variation not counted", "max(GRANULARITY, 4 * self.variation)", "GRANULARITY", "the timeout is the mean round trip"),
    _in("channel", "no early repetition", "self.lost = [f for f in flights.values() if f.order < self._told_order]", "self.lost = []",
        "what a later acknowledgement shows to be lost waits for the timeout"),
    _in("channel", "too early a repetition", "f.order < self._told_order]", "f.order != self._told_order]", "whatever is in flight is repeated at each ACK"),
    _in("channel", "given up in progress", "now - self._progress_at >= self._give_up - 1e-9 and ", "", "a channel that gets on is given up"),
    _in("channel", "given up by the clock", " and oldest.tries >= self._patience():", ":", "a channel is given up after a few tries"),
    _in("channel", "never given up", "now - self._progress_at >= self._give_up - 1e-9 and oldest.tries >= self._patience()", "False",
        "a dead link is tried for ever"),
    _in("channel", "progress unnoticed", "self._since = self._progress_at = now\n        # what", "self._since = now\n        # what", "acknowledgements are no progress"),
    _in("channel", "bytes not given back", "self.queued_bytes -= flight.parcel.size", "pass", "the queue fills with what has come there"),
    _in("channel", "out of order forgotten", "sent = self._waiting | {s:", "sent = {s:", "events held out of order at the far end are not recorded as dropped"),
    _in("channel", "unacknowledged is acknowledged", "return next(iter(self.flights), self.next_sequence)", "return self.next_sequence",
        "whatever was sent counts as come"),
    # ---- what comes
    _in("channel", "span off by one", "            if 0 < ahead < SPAN:", "            if 0 < ahead <= SPAN:", "one more is held than an ACK can name"),
    _in("channel", "what is old is held", "if 0 < ahead < SPAN:", "if ahead < SPAN:", "a repetition is kept for ever"),
    _in("channel", "nothing held", "if 0 < ahead < SPAN:\n                self.held[sequence] = content", "if 0 < ahead < SPAN:\n                pass", "what comes out of order is thrown away"),
    _in("channel", "a repetition acknowledged later", "self.ack_now = True  # a repetition", "self.ack_now = ahead > 0  # a repetition",
        "a repetition is acknowledged with the next ACK",
        "0.1 s later at most, well within the far end's timeout: harmless by design"),
    _in("channel", "ACK by the timer only", "if self.held or self.unacknowledged >= ACK_AT:", "if False:", "many arrivals wait for company"),
    _in("channel", "pieces without end", "if len(self._pieces) + len(fragment.piece) > wire.MAX_MESSAGE:", "if False:", "a message in pieces grows without limit"),
    _in("channel", "pieces of the last message", "self._pieces.clear()\n        return whole", "return whole", "a message begins with the one before"),
    # ---- all channels of a node
    _in("links", "RESET ignored", 'self._fail(channel, "reset")', "pass", "who is reset goes on"),
    _in("links", "RESETs at will", "if now - self._resets.get(key, -RESET_PAUSE) < RESET_PAUSE:", "if False:", "each message of a dead link is answered"),
    _in("links", "RESETs without number", "if len(self._resets) >= RESETS:\n                return None", "if False:\n                return None",
        "RESETs are remembered without limit"),
    _in("links", "ACK of another", "if message.to != self._me:\n            return  # rides", "if False:\n            return  # rides", "an ACK for another counts"),
    _in("links", "no ACK alone", "channel.ack_now = True\n            self._wake(channel)", "pass", "an ACK that finds no company never leaves"),
    _in("links", "no reserve", "(0 if loose else CONTROL_RESERVE)", "0", "events leave no room for what must not be lost"),
    _in("links", "overflow of control", "if type(message) not in LOOSE or channel.position", "if channel.position", "a link goes on although a message of it was dropped"),
    _in("links", "overflow of events", "if type(message) not in LOOSE or channel.position > SEQUENCES - 2 * SPAN:", "if True:",
        "a link fails for one event too many"),
    _in("links", "anything once", "if type(message.message) not in LOOSE:", "if False:", "what needs its order is taken beside the channel"),
    _in("links", "a message between pieces", 'raise ValueError("a message between the pieces of another")', "return None", "a message between the pieces of another is lost"),
    _in("links", "any number of addressees", "most = min(ADDRESSEES, (BODY - ENVELOPE - parcel.size) // ADDRESSEE)", "most = len(sends)",
        "a broadcast has more addressees than it may"),
    _in("links", "datagrams too large", "if size > room:", "if False:", "a datagram is larger than it may be"),
    _in("links", "dead after closing", "self._ready.pop(channel, None)\n", "pass\n", "a closed channel is still to send", "_flush looks whether it is closed"),
    _in("links", "dropped in silence", 'self._env.record("event_dropped", event=event, link=str(link), reason="link_lost")\n        channel.end()',
        "pass\n        channel.end()", "events lost with a link are not recorded"),
    _in("links", "delivered after the end", "if channel.closed:\n                return\n        if channel.ack_now", "pass\n        if channel.ack_now",
        "messages are delivered after one of them has closed the channel",
        "Channel.arrived looks before each whether it is closed"),
    _in("links", "failed twice", "if channel.closed:\n            return\n        channel.fail()", "channel.fail()", "a channel fails more than once"),
    _in("links", "pending is dead", "if self._notices.link_pending(link):", "if False:", "a link about to open is reset"),
    # ---- neighbors that never stop
    _in("links", "no allowance", "if type(inner) in SPREADING:", "if False:", "a neighbor may have others told without end"),
    _in("links", "an allowance a link", "if far in self._allowances:", "if False:", "a new link brings a new allowance"),
    _in("links", "a new allowance each time", "self._allowances.get(channel.far) or Allowance(self._env.now())", "Allowance(self._env.now())",
        "what was said before does not count"),
    _in("links", "a pause for ever", "self._take_in(channel, channel.resumed())", "pass", "who had to wait is never heard again"),
    _in("links", "slowed in silence", "if len(channel.held) >= PRESSING and", "if False and", "nobody learns of a neighbor that never stops"),
    _in("channel", "no pause", "if self.paused:\n", "if False:\n", "what comes in its turn is delivered all the same"),
    _in("channel", "what waits is lost", "if 0 <= ahead < SPAN:", "if False:", "what comes while a channel waits is thrown away",
        "the far end sends it again: nothing is lost, it only takes more datagrams"),
    _in("channel", "all at once after a pause", "and not self.paused and (held", "and (held", "after the first pause all that waits is delivered"),
    _in("channel", "a bit too far", "if sequence > self.expected:\n                beyond", "if True:\n                beyond", "what waits in its turn cannot be acknowledged"),
]
