"""The radio medium that the hosts of a run share, one model for all worlds of ours.

IEEE 802.11 in ad hoc mode, as far as a broker can tell the difference: a frame occupies the air
around its sender for its airtime, a sender waits until the channel around it is idle and then
backs off (distributed coordination function), broadcasts go out once at the base rate, unicasts
at the data rate with acknowledgement and retries whose outcome nobody above is told. Two frames
that overlap at a receiver are both lost there: hidden terminals, and senders that begin within
the slot in which they cannot sense each other yet. There is no capture effect.

The medium has no clock of its own: a scheduler with now() and call_at(time, action) drives it,
the simulator's heap or a real-time loop. What becomes of frames it tells whoever asked: `deliver` of each
reception, a capture of what radios sent and received, `tried` of each try, `done` of the end of each frame.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from emulation import chance
from emulation.airtime import ack_time, backoff_window, frame_time
from emulation.neighborhood import Neighborhood
from emulation.propagation import Locator, LogDistance, UnitDisk
from emulation.scheduler import Scheduler
from mobility import Movement
from node.airtime import DIFS, OVERHEAD_BYTES, SLOT
from topologies.radio import LogDistanceRadio, UnitDiskRadio


class Capture(Protocol):
    """What notes the frames that each radio sent and received."""

    def sent(self, frame: Frame, time: float) -> None: ...
    def received(self, frame: Frame, hosts: list[int], time: float) -> None: ...


class Frame:
    """One datagram on its way through the medium."""

    __slots__ = ("acknowledged", "arrived", "destination", "ethernet", "payload", "sender", "tries")

    def __init__(self, sender: int, destination: int | None, payload: bytes) -> None:
        self.sender = sender
        self.destination = destination  # None: broadcast
        self.payload = payload
        self.tries = 0
        self.acknowledged = False
        self.arrived = False  # a retry after a lost acknowledgement is not handed up again
        self.ethernet: bytes | None = None  # what a capture writes of it, made once


class Transmission:
    """One try of a frame, on the air from start until end (s); `receivers`: hosts in range when it began, `spoiled`:
    those that heard overlaps, None for nobody."""

    __slots__ = ("end", "frame", "receivers", "spoiled", "start")

    def __init__(self, frame: Frame, start: float, end: float, receivers: tuple[int, ...]) -> None:
        self.frame = frame
        self.start = start
        self.end = end
        self.receivers = receivers
        self.spoiled: set[int] | None = None

    def spoil(self, host: int) -> None:
        if self.spoiled is None:
            self.spoiled = set()
        self.spoiled.add(host)


Deliver = Callable[[int, Frame], None]  # the receiver, and what has arrived there
Tried = Callable[[Transmission, Sequence[int]], None]  # a try that has ended, and the hosts at which it arrived
Done = Callable[[Frame], None]  # the sender's radio has no more to do with the frame


class _Radio:
    """The transmitter of one host: the frame in hand, those waiting, and the back-off's state."""

    __slots__ = ("count_from", "fires", "frame", "host", "leaving", "life", "on", "waiting")

    def __init__(self, host: int) -> None:
        self.host = host
        self.frame: Frame | None = None
        self.waiting: deque[Frame] = deque()
        self.count_from = 0.0  # s, when the back-off began to count
        self.fires = 0.0  # s, when it ends
        self.on = True
        self.leaving = False  # goes off when what is queued has been sent
        self.life = 0  # grows when the radio goes off: actions of a former life do nothing


class Medium:
    """The air between the hosts of one run. All times in s, sizes in bytes, rates in bit/s."""

    def __init__(self, scheduler: Scheduler, movement: Movement, radio: UnitDiskRadio | LogDistanceRadio, seed: int,
                 deliver: Deliver, record: Callable[..., None], *,
                 end: float | None = None, off: Iterable[int] = (), overhead: int = OVERHEAD_BYTES,
                 capture: Capture | None = None, tried: Tried | None = None, done: Done | None = None) -> None:
        """`deliver(receiver, frame)` is called when a frame has arrived; `record(kind, **fields)` takes the
        world's records; `radio` is the scenario's table [radio]; the hosts of `off` begin with their radios
        off; `overhead` bytes are on the air with each payload. `tried(transmission, arrived)` is told of every
        try, before what follows from it; `done(frame)` once of each frame that was queued: sent, given up, or
        lost with its radio's queue."""
        self._now = scheduler.now
        self._call_at = scheduler.call_at
        self._deliver = deliver
        self._record = record
        self._capture = capture
        self._tried = tried
        self._done = done
        self._queue = radio.queue
        self._delay = radio.delay
        self._max_tries = radio.retries + 1
        self._shared = radio.carrier_sense
        self._overhead = overhead
        self._rates = {True: radio.base_rate, False: radio.data_rate}
        self._times: dict[tuple[bool, int], float] = {}
        self._ack = ack_time(radio.base_rate)
        count = len(movement.names)
        self._loss = radio.loss
        self._link_loss = {(link.from_, link.to): link.loss for link in radio.links}
        self._propagation = propagation_of(radio, movement, seed)
        self._certain = not (self._propagation.varies or self._loss or self._link_loss)
        self._keys = [chance.key(seed, "radio", host) for host in range(count)]
        silence = Transmission(Frame(-1, None, b""), -1.0, -1.0, ())
        self._on_air = [silence] * count  # what ends last of all that each host hears or sends
        self._radios = [_Radio(host) for host in range(count)]
        self.counts = dict.fromkeys(COUNTS, 0)
        self.receptions = 0  # in the whole run
        self.airtime = 0.0  # s of frames on the air, all hosts together
        self._overflowed: dict[int, int] = {}
        off = set(off)
        for host in off:
            self._radios[host].on = False
        self.neighborhood = Neighborhood(scheduler, movement, self._propagation, self._loss_of, record,
                                         movement.duration if end is None else end, off)

    # ---- what hosts and faults do --------------------------------------------------------------
    def transmit(self, sender: int, destination: int | None, payload: bytes) -> None:
        """Queue one datagram for the air: to all in range (None) or to one host."""
        self.queue(Frame(sender, destination, payload))

    def queue(self, frame: Frame) -> bool:
        """Queue a frame for the air; whether its sender's radio takes it: it is on and its queue not full."""
        radio = self._radios[frame.sender]
        if not radio.on or radio.leaving:
            return False
        if radio.frame is None:
            self._contend(radio, frame)
        elif len(radio.waiting) < self._queue:
            radio.waiting.append(frame)
        else:
            self.counts["overflowed"] += 1
            self._overflowed[frame.sender] = self._overflowed.get(frame.sender, 0) + 1
            return False
        return True

    def host_leaves(self, host: int) -> None:
        """Switch a host's radio off as soon as what it has queued is sent."""
        radio = self._radios[host]
        radio.leaving = True
        if radio.frame is None:
            self.host_down(host)

    def host_down(self, host: int) -> None:
        """Switch a host's radio off; what it had queued is gone."""
        radio = self._radios[host]
        lost = [*radio.waiting] if radio.frame is None else [radio.frame, *radio.waiting]
        radio.on = radio.leaving = False
        radio.life += 1
        radio.frame = None
        radio.waiting.clear()
        self.neighborhood.down(host)
        if self._done is not None:
            for frame in lost:
                self._done(frame)

    def host_up(self, host: int) -> None:
        """Switch it on again; no-op when it is."""
        self._radios[host].leaving = False
        if not self._radios[host].on:
            self._radios[host].on = True
            self.neighborhood.up(host)

    def power(self, sender: int, receiver: int) -> float:
        """dBm with which a receiver hears a sender now."""
        return self._propagation.power(sender, receiver, self._now())

    def record_traffic(self) -> None:
        """Record the counts since the last call, and which queues overflowed."""
        counts, self.counts = self.counts, dict.fromkeys(COUNTS, 0)
        airtime, self.airtime = self.airtime, 0.0
        self._record("radio_traffic", **counts, airtime=round(airtime, 6))
        for host, frames in self._overflowed.items():
            self._record("radio_overflow", host=host, frames=frames)
        self._overflowed = {}

    # ---- access to the channel -----------------------------------------------------------------
    def _contend(self, radio: _Radio, frame: Frame) -> None:
        """Send at once when the channel has been idle for DIFS, else back off."""
        radio.frame = frame
        now = self._now()
        idle_from = self._busy_until(radio.host, now) + DIFS
        if now >= idle_from:
            self._send(radio, frame, now)
        else:
            self._back_off(radio, frame, idle_from)

    def _back_off(self, radio: _Radio, frame: Frame, count_from: float) -> None:
        draw = chance.uniform(self._keys[radio.host], int(count_from * 1e9))
        slots = int(draw * (backoff_window(frame.tries) + 1))
        radio.count_from = count_from
        self._wake(radio, frame, count_from + slots * SLOT)

    def _wake(self, radio: _Radio, frame: Frame, time: float) -> None:
        radio.fires = time
        self._call_at(time, partial(self._attempt, radio, frame, radio.life))

    def _attempt(self, radio: _Radio, frame: Frame, life: int) -> None:
        """The back-off has run out: send, or count on when the channel is idle again."""
        if radio.life != life:
            return  # it was switched off in between, and its frame is gone
        now = self._now()
        idle_from = self._busy_until(radio.host, now) + DIFS
        if now >= idle_from - 1e-12:
            self._send(radio, frame, now)
            return
        began = max(self._on_air[radio.host].start, radio.count_from)
        left = max(radio.fires - began, 0.0)
        radio.count_from = idle_from
        self._wake(radio, frame, idle_from + left)

    def _busy_until(self, host: int, now: float) -> float:
        """Until when `host` senses the channel busy; what began within the last slot is not sensed."""
        heard = self._on_air[host]
        if heard.start > now - SLOT and heard.frame.sender != host:
            return now - DIFS
        return heard.end

    # ---- on the air ----------------------------------------------------------------------------
    def _send(self, radio: _Radio, frame: Frame, now: float) -> None:
        frame.tries += 1
        to = frame.destination
        broadcast = to is None
        size = len(frame.payload)
        airtime = self._times.get((broadcast, size))
        if airtime is None:
            airtime = self._times[broadcast, size] = frame_time(self._overhead + size, self._rates[broadcast])
        self.airtime += airtime
        if broadcast:
            self.counts["broadcasts"] += 1
            end = now + airtime
        else:
            self.counts["unicasts" if frame.tries == 1 else "retries"] += 1
            end = now + airtime + self._ack  # the neighbors' network allocation vector covers both
        if self._capture is not None and frame.tries == 1:
            self._capture.sent(frame, now)
        host = radio.host
        receivers = self.neighborhood.of[host]
        transmission = Transmission(frame, now, end, receivers)
        self._occupy(host, transmission, now)
        if self._shared:
            on_air = self._on_air
            for receiver in receivers:  # the most frequent lines of a run
                if on_air[receiver].end > now:
                    self._occupy(receiver, transmission, now)
                else:
                    on_air[receiver] = transmission
        self._call_at(now + airtime, partial(self._broadcast_ends, radio, radio.life, transmission) if to is None else
                      partial(self._unicast_ends, radio, radio.life, transmission, to))

    def _occupy(self, host: int, transmission: Transmission, now: float) -> None:
        heard = self._on_air[host]
        if heard.end > now:
            heard.spoil(host)
            transmission.spoil(host)
            if heard.end > transmission.end:
                return
        self._on_air[host] = transmission

    def _broadcast_ends(self, radio: _Radio, life: int, transmission: Transmission) -> None:
        if radio.life != life:
            return  # the sender went down in the middle of it
        self._next(radio)
        if self._certain and transmission.spoiled is None:
            radios = self._radios
            arrived = [host for host in transmission.receivers if radios[host].on]
        else:
            arrived = [host for host in transmission.receivers if self._arrives(transmission, host, True)]
        if self._tried is not None:
            self._tried(transmission, arrived)
        if self._done is not None:
            self._done(transmission.frame)
        if arrived:
            self._hand_up(transmission.frame, arrived)

    def _unicast_ends(self, radio: _Radio, life: int, transmission: Transmission, to: int) -> None:
        if radio.life != life:
            return
        frame = transmission.frame
        arrived = to in transmission.receivers and self._arrives(transmission, to, False)
        frame.acknowledged = arrived and not self._fades(to, frame.sender, transmission.end, True)
        done = frame.acknowledged or frame.tries >= self._max_tries
        if done:
            self.counts["gave_up"] += not frame.acknowledged
            self._next(radio)
        else:
            self._back_off(radio, frame, self._on_air[frame.sender].end + DIFS)
        if self._tried is not None:
            self._tried(transmission, (to,) if arrived else ())
        if done and self._done is not None:
            self._done(frame)
        if arrived and not frame.arrived:
            frame.arrived = True
            self._hand_up(frame, [to])

    def _next(self, radio: _Radio) -> None:
        """The frame in hand is done: take the next, which backs off in any case."""
        radio.frame = None
        if radio.waiting:
            radio.frame = radio.waiting.popleft()
            self._back_off(radio, radio.frame, self._on_air[radio.host].end + DIFS)
        elif radio.leaving:
            self.host_down(radio.host)

    def _hand_up(self, frame: Frame, hosts: list[int]) -> None:
        if self._delay > 0.0:
            self._call_at(self._now() + self._delay, partial(self._arrived, frame, hosts))
        else:
            self._arrived(frame, hosts)

    def _arrived(self, frame: Frame, hosts: list[int]) -> None:
        self.receptions += len(hosts)
        self.counts["receptions"] += len(hosts)
        if self._capture is not None:
            self._capture.received(frame, hosts, self._now())
        deliver = self._deliver
        for host in hosts:
            deliver(host, frame)

    # ---- chance --------------------------------------------------------------------------------
    def _arrives(self, transmission: Transmission, host: int, base_rate: bool) -> bool:
        if not self._radios[host].on:
            return False
        if transmission.spoiled is not None and host in transmission.spoiled:
            self.counts["collided"] += 1
            return False
        if self._fades(transmission.frame.sender, host, transmission.start, base_rate):
            self.counts["lost"] += 1
            return False
        return True

    def _fades(self, sender: int, receiver: int, time: float, base_rate: bool) -> bool:
        """Draw whether the channel loses a frame sent at `time`."""
        if self._certain:
            return False
        chance_of = self._propagation.probability(sender, receiver, time, base_rate)
        chance_of *= 1.0 - self._loss_of(sender, receiver)
        if chance_of >= 1.0:
            return False
        key = chance.mix(self._keys[sender] + 3 * self._keys[receiver])
        return chance.uniform(key, int(time * 1e9)) >= chance_of

    def _loss_of(self, sender: int, receiver: int) -> float:
        return self._link_loss.get((sender, receiver), self._loss)


COUNTS = ("broadcasts", "unicasts", "retries", "receptions", "lost", "gave_up", "collided", "overflowed")


def propagation_of(radio: UnitDiskRadio | LogDistanceRadio, movement: Movement, seed: int) -> UnitDisk | LogDistance:
    """The propagation model that the scenario's table [radio] asks for."""
    if isinstance(radio, UnitDiskRadio):
        return UnitDisk(radio.range)
    return LogDistance(Locator(movement.trajectories), seed, tx_power=radio.tx_power,
                       reference_loss=radio.reference_loss, reference_distance=radio.reference_distance,
                       exponent=radio.exponent, sigma=radio.shadowing, coherence=radio.coherence,
                       fading=radio.fading, sensitivity=radio.sensitivity,
                       data_sensitivity=radio.data_sensitivity)
