"""Who lies about a device, and who misbehaves as one: each is bounded, refused and counted."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

from node import schema, wire
from node.config import NodeConfig
from node.filters import parse
from node.ids import LinkId, Peer
from node.roaming import handoff, proofs, sessions
from tests.node.roaming_world import APP, DEVICE, World, begun, broker_of, one, published


class Liar:
    """A host that sends what it likes under its id: a radio of the simulator, and no node."""

    def __init__(self, world: World, host: int, near: int, key: bytes = b"k" * 16, epoch: int = 1) -> None:
        self.world, self.host, self.near, self.key, self.epoch = world, host, near, key, epoch
        self.radio, self.counter = host, 0
        self.heard: list[wire.Message] = []
        self.sequence = 0
        world.sim.crash(host)
        world.sim.medium.host_up(host)
        world.sim.brokers[host] = self
        world.hear(host, [near])
        self.nonce = 77

    def datagram_received(self, datagram: bytes) -> None:
        self.heard += wire.decode(datagram).messages

    def flush_records(self) -> None:
        """It has none."""

    def say(self, *messages: wire.Message) -> None:
        self.counter += 1
        self.world.sim.medium.transmit(self.radio, self.near,
                                       wire.encode(Peer(self.host, self.epoch), self.counter, messages))
        self.world.run(0.1)

    def tell(self, message: wire.Message) -> None:
        """In the channel, and nothing of it is ever acknowledged."""
        self.say(wire.Data(((self.near, self.nonce, self.sequence),), message))
        self.sequence += 1

    def attach(self, turn: int = 1, holders=(), filters=(), nonce: int = 77) -> str | None:
        """Why it is refused; None if it hears no answer, as when it says that it is another."""
        self.nonce, self.sequence = nonce, 0
        self.say(wire.Attach(nonce, turn, self.key, tuple(holders), ()))
        answers = [m for m in self.heard if type(m) is wire.Attached and m.nonce == nonce]
        if not answers or not answers[-1].refused:
            if filters:
                self.tell(wire.Want(tuple(map(parse, filters))))
            self.tell(wire.MoveIn(len(filters)))
        return answers[-1].refused if answers else None


def liar_world(near: int = 0, **config) -> tuple[World, Liar]:
    world = World(4, devices=2, end=300.0, **config)
    world.run(5.0)
    return world, Liar(world, 5, near)


def test_an_impostor_gets_nothing_and_disturbs_nothing():
    """It has another key than the device whose id it takes: the device's own broker knows."""
    world = begun()
    liar = Liar(world, 5, 0)
    liar.host = DEVICE  # what it says it is
    liar.counter = 100_000
    liar.attach(turn=9)
    assert world.drops()["attach_identity"] == 1
    events = published(world, 5)
    world.run(1.0)
    assert world.got(DEVICE) == events and broker_of(world) == 0


def test_an_impostor_at_a_far_broker_is_found_by_its_stop():
    """A broker that never met the device lets it in, asks, and learns from the device's own broker that it lies."""
    world = begun()
    liar = Liar(world, 5, 3)
    liar.host = DEVICE
    liar.counter = 100_000
    liar.attach(turn=9, holders=[(0, world.sim.brokers[0].sessions.of[DEVICE].id, 0)])
    world.run(1.0)
    assert DEVICE not in world.sim.brokers[3].sessions.of and world.drops()["bad_proof"] == 1
    assert "another one elsewhere" in one(world, "refused")["what"]
    assert not any(type(message) is wire.HandOut for message in liar.heard)
    liar.attach(turn=10, nonce=78)
    assert world.drops()["attach_identity"] == 1  # it is barred for a while
    events = published(world, 5)
    world.run(1.0)
    assert world.got(DEVICE) == events and broker_of(world) == 0


def test_who_overheard_the_key_takes_the_place_of_the_device():
    """What the page's limits say: the key goes in the clear, and is all that tells the device from another. The
    device is turned out, comes back, and goes on beside the other, of whose later turn it is not told."""
    world = begun()
    device = world.sim.brokers[DEVICE]
    held = world.sim.brokers[0].sessions.of[DEVICE].id
    liar = Liar(world, 5, 3, key=device._key)
    liar.host = DEVICE
    liar.counter = 100_000
    liar.attach(turn=9, holders=[(0, held, 0)], filters=['kind = "a"'])
    world.run(0.3)
    assert one(world, "handed_over", to=3) and DEVICE in world.sim.brokers[3].sessions.of
    assert one(world, "moved_out", broker=0)["reason"] == "reset"
    world.run(3.0)
    assert broker_of(world) == 0 and world.drops()["late"] >= 1
    events = published(world, 5)
    assert len(world.sim.brokers[3].sessions.of[DEVICE].buffer) == 5  # the other gets them, too
    world.run(1.0)
    assert world.got(DEVICE) == events


def test_a_stranger_with_the_key_and_without_the_secret_is_not_heard():
    world = begun(secret="of the network")
    liar = Liar(world, 5, 3, key=world.sim.brokers[DEVICE]._key)
    liar.datagram_received = lambda datagram: None
    liar.host = DEVICE
    liar.counter = 100_000
    liar.attach(turn=9)
    assert DEVICE not in world.sim.brokers[3].sessions.of and broker_of(world) == 0
    assert world.drops()["unauthenticated"] >= 1


def test_each_alive_is_answered_once_and_a_strange_one_by_a_reset():
    """No more goes out than came in, and nothing is remembered."""
    world, liar = liar_world()
    liar.attach()
    for nonce in [liar.nonce] * 20 + [5] * 20:
        liar.say(wire.Alive(nonce))
    assert sum(type(message) is wire.Served for message in liar.heard) == 20
    assert sum(type(message) is wire.Reset and message.nonce == 5 for message in liar.heard) == 20


def test_only_its_broker_answers_a_device():
    """What another says, or of another channel, does not count: the device leaves a broker that is deaf."""
    world = begun()
    liar = Liar(world, 5, 0)
    liar.near = DEVICE
    world.hear(DEVICE, [0])
    world.sim.medium.neighborhood.restore(DEVICE, 5)
    nonce = world.sim.brokers[DEVICE]._at.nonce
    world.sim.medium._certain = False
    world.sim.medium._link_loss[DEVICE, 0] = 1.0
    for _ in range(50):
        liar.say(wire.Served(nonce, ()))
    assert one(world, "moved_out")["reason"] == "unanswered"


def test_nobody_is_a_broker_that_is_heard():
    world, liar = liar_world()
    liar.host = 1  # a neighbor of broker 0
    liar.counter = 100_000
    liar.attach()
    assert world.drops()["attach_identity"] == 1 and not world.sim.brokers[0].sessions.of


def test_a_device_that_publishes_as_another_is_not_heeded():
    world, liar = liar_world()
    world.subscribe(3, 'kind = "mine"')
    world.run(1.0)
    liar.attach()
    for source, epoch, hops in ((3, 1, 0), (5, 2, 0), (5, 1, 3)):
        liar.tell(wire.Publish(wire.Event(source, epoch, 1, 0.0, hops, {"kind": "mine"}, b"")))
    liar.tell(wire.Publish(wire.Ready(False)))
    assert world.drops()["not_its_own"] == 3 and world.drops()["misplaced"] == 1 and not world.got(3)


def test_a_flood_of_filters_is_bounded():
    """More filters than a client may have: the rest is refused, once in the records."""
    world, liar = liar_world()
    liar.attach()
    for part in range(20):
        liar.tell(wire.Want(tuple(parse(f"n = {64 * part + k}") for k in range(64))))
    assert len(world.sim.brokers[0].sessions.of[5].filters) == 1024
    assert world.drops()["too_many_filters"] == 4
    assert one(world, "refused")["limit"] == 1024 and len(world.kinds("refused")) == 1


def test_filters_to_and_fro_are_bounded_in_rate():
    """Each change goes through the whole network: who never ends is put out, and barred for a while."""
    world, liar = liar_world()
    liar.attach()
    some = tuple(parse(f"n = {k}") for k in range(64))
    for _ in range(60):
        liar.tell(wire.Want(some))
        liar.tell(wire.Unwant(tuple(wanted.hash for wanted in some)))
        if 5 not in world.sim.brokers[0].sessions.of:
            break
    assert one(world, "session_closed")["reason"] == "flood" and world.drops()["flood"] == 1
    assert liar.attach(turn=2, nonce=5) == "identity"
    assert not world.sim.brokers[3].routing.table


def test_a_device_that_never_acknowledges_costs_a_bounded_buffer():
    world, liar = liar_world(client_buffer=8192)
    liar.attach(filters=['kind = "a"'])
    world.run(1.0)
    for k in range(100):
        world.sim.brokers[3].publish(APP, {"kind": "a"}, bytes(200))
        if k % 10 == 9:
            liar.attach(turn=2 + k, nonce=100 + k, filters=['kind = "a"'])
    world.run(8.0)
    session = world.sim.brokers[0].sessions.of[5]
    assert session.link is None and session.buffer.bytes <= 8192
    assert one(world, "session_away")["reason"] == "channel"
    dropped = {fields["event"] for _, _, _, fields in world.kinds("buffer_dropped")}
    assert len(dropped) + len(session.buffer) == 100
    world.run(80.0)
    assert not world.sim.brokers[0].sessions.of


def test_a_device_at_two_brokers_is_at_the_later_one():
    """It does not tell the second of the first: the STOP finds that, and what the first held is dropped."""
    world, liar = liar_world()
    liar.attach(filters=['kind = "a"'])
    world.run(1.0)
    other = Liar(world, 5, 3)
    other.counter = 1000
    other.attach(turn=2, filters=['kind = "a"'])
    world.run(1.0)
    assert 5 not in world.sim.brokers[0].sessions.of and 5 in world.sim.brokers[3].sessions.of
    assert one(world, "session_closed")["reason"] == "unclaimed"


def test_a_device_at_two_brokers_in_one_turn_is_at_either_for_no_longer_than_it_is_heard():
    """No STOP is later than the other: both brokers refuse, count and hold what comes, each within its bounds; who is
    not heard there any more is forgotten."""
    world, liar = liar_world(client_age=12.0, client_buffer=8192)
    liar.attach(filters=['kind = "a"'])
    other = Liar(world, 5, 3)
    other.counter = 1000
    other.attach(filters=['kind = "a"'], holders=[(0, 99, 0)])
    world.run(1.0)
    assert world.drops()["late"] >= 1 and all(5 in world.sim.brokers[host].sessions.of for host in (0, 3))
    for _ in range(100):
        world.sim.brokers[1].publish(APP, {"kind": "a"}, bytes(200))
    world.run(2.0)
    assert all(0 < world.sim.brokers[host].sessions.of[5].buffer.bytes <= 8192 for host in (0, 3))
    world.run(30.0)
    assert not any(5 in world.sim.brokers[host].sessions.of for host in (0, 3))
    assert not any(len(world.sim.brokers[host].routing.table) for host in range(4))


def test_an_old_turn_and_a_hasty_one_are_refused():
    world, liar = liar_world()
    assert liar.attach(turn=5) == ""
    assert liar.attach(turn=4, nonce=1) == "moved"
    liar.say(wire.Attach(2, 6, liar.key, (), ()), wire.Attach(3, 7, liar.key, (), ()))
    assert world.drops()["attach_too_often"] == 1 and world.drops()["attach_moved"] == 1


def test_more_devices_than_a_broker_serves(monkeypatch):
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 2)
    world = World(2, devices=3, end=200.0)
    for device in world.devices:
        world.subscribe(device, 'kind = "a"')
    world.run(5.0)
    for device in world.devices:
        world.hear(device, [0])
    world.run(10.0)
    assert len(world.sim.brokers[0].sessions.of) == 2
    assert one(world, "refused")["what"] == "devices" and world.drops()["attach_full"] >= 1
    world.hear(2, [])  # away: who is there needs the room more
    world.run(70.0)
    assert 2 not in world.sim.brokers[0].sessions.of


def handed(world: World, request: int, holder: int, key: bytes = b"k" * 16, events=(), serial: int = 0,
           status: str = "events") -> wire.Handed:
    """An answer from broker 1 to broker 0, as `holder`'s."""
    proof = proofs.of_handed(key, 5, request, serial, True, tuple(events), holder, 0)
    route = (1, 0) if holder == 1 else (holder, 1, 0)
    return wire.Handed(5, request, status, serial, True, tuple(events), proof, route)


def forged(sequence: int = 1) -> wire.Event:
    return wire.Event(3, 1, sequence, 0.0, 0, {"kind": "a"}, b"")


def test_a_broker_that_answers_for_a_device_that_it_never_had():
    """Unasked, for another request, by one that is no holder, with a wrong proof, behind the end: nothing counts."""
    world, liar = liar_world()
    broker = world.sim.brokers[0]
    link = next(iter(broker.routing.links))
    broker.link_message(link, handed(world, 1, 1))  # nobody asked
    liar.attach(holders=[(3, 99, 0)], filters=['kind = "a"'])
    asked = next(iter(broker.sessions.handoffs._open[5].requests))
    world.run(0.5)
    broker.link_message(link, handed(world, asked + 7, 3, events=[forged()]))
    broker.link_message(link, handed(world, asked, 1, events=[forged()]))
    assert world.drops()["unasked"] == 3
    # broker 3 has answered that it knows nothing; the handoff is over
    assert one(world, "handoff")["outcome"] == "unknown" and one(world, "handoff_waited")["seconds"] < 0.5
    assert not len(broker.sessions.of[5].buffer)


def test_an_answer_with_a_wrong_proof_or_a_wrong_way_is_refused(monkeypatch):
    monkeypatch.setattr(handoff.Handoffs, "_asked", lambda *_: None)  # the holder stays silent
    world, liar = liar_world()
    broker = world.sim.brokers[0]
    link = next(iter(broker.routing.links))
    liar.attach(holders=[(1, 99, 0)], filters=['kind = "a"'])
    asked = next(iter(broker.sessions.handoffs._open[5].requests))
    broker.link_message(link, handed(world, asked, 1, key=b"x" * 16, events=[forged()]))
    broker.link_message(link, handed(world, asked, 1, events=[forged()])._replace(events=(forged(2),)))
    broker.link_message(link, handed(world, asked, 1, events=[wire.Ready(True)]))
    assert world.drops()["bad_proof"] == 3
    for route in ((), (0,), (1,), (2, 0), (1, 1, 0), (0, 1, 0)):
        broker.link_message(link, handed(world, asked, 1, events=[forged()])._replace(route=route))
    assert world.drops()["bad_route"] == 6
    assert not broker.sessions.of[5].buffer and broker.sessions.handoffs._open[5].open
    # more than a holder can have is not taken in for ever
    for serial in range(0, 400, 50):
        events = tuple(wire.Event(3, 1, serial + k + 1, 0.0, 0, {"kind": "a"}, bytes(1000)) for k in range(50))
        part = handed(world, asked, 1, events=events, serial=serial)._replace(last=False)
        part = part._replace(proof=proofs.of_handed(b"k" * 16, 5, asked, serial, False, events, 1, 0))
        broker.link_message(link, part)
    assert world.drops()["too_much"] == 1 and one(world, "handoff_waited")["holders"] == 1
    assert broker.sessions.of[5].buffer.bytes <= broker.config.client_buffer


def test_stops_with_a_loop_or_by_the_hundred_go_nowhere():
    world, _ = liar_world()
    broker = world.sim.brokers[1]
    link = LinkId(*next(one for one in broker.routing.links if one.far_end(1) == 0))

    def stop(request: int, route) -> wire.Stop:
        return wire.Stop(5, 1, 1, request, (), b"p" * 16, route, ())

    for route in ((), (1,), (2,), (2, 1, 0), (2, 2, 0), (0, 2)):
        broker.link_message(link, stop(1, route))
    assert world.drops()["bad_route"] == 6
    for way in ((0,), (0, 2), (2, 1), (0, 2, 1)):
        broker.link_message(link, stop(1, (0,))._replace(way=way))
    assert world.drops()["bad_route"] == 10
    for request in range(500):
        broker.link_message(link, stop(request, (0,)))
    refused = world.drops()["too_often"]
    assert refused >= 400
    broker.link_message(next(one for one in broker.routing.links if one.far_end(1) == 2), stop(1000, (2,)))
    assert world.drops()["too_often"] == refused, "another neighbor has done nothing"
    assert all(faults == [] for faults in (schema.faults({"t": t, "node": host, "kind": kind, **fields})
                                           for t, host, kind, fields in world.records))


def test_what_belongs_to_brokers_is_not_taken_from_a_device():
    """No tree message, no subscription, no STOP over the channel of a device."""
    world, liar = liar_world()
    liar.attach()
    for message in (wire.Sub((parse("n = 1"),), None), wire.Leader(5, 1, 1, 0, False, (5,)), forged(),
                    wire.Stop(5, 1, 9, 1, (), b"p" * 16, (5,), ()), handed(world, 1, 1)):
        liar.tell(message)
    assert world.drops()["misplaced"] == 5 and not len(world.sim.brokers[0].routing.table)


def test_defaults_say_what_the_page_says():
    config = NodeConfig()
    assert (config.client_buffer, config.client_age, config.handoff_wait) == (131072, 60.0, 2.0)


def test_where_no_device_comes_nothing_is_drawn_for_one():
    """Or runs of a seed would differ from those of a node that knew no devices."""
    station = SimpleNamespace(me=Peer(0, 1), config=NodeConfig(), env=SimpleNamespace(random=Random(1)))
    before = station.env.random.getstate()
    sessions.Sessions(station, None, None, None, None)
    assert station.env.random.getstate() == before
