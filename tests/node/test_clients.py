"""Local clients: what they may ask, what they are told, what is recorded."""
from __future__ import annotations

import pytest

from node.clients import MAX_CLIENTS, MAX_FILTERS_PER_CLIENT, MAX_PAYLOAD, ClientError
from node.filters import FilterError, parse
from node.ids import EventId
from tests.node.tree_world import TreeWorld


def alone():
    core = TreeWorld(1).cores[0]
    core.attach("c")
    return core


def test_records_of_a_subscription_an_event_and_its_delivery():
    core = alone()
    core.env.time = 2.5
    wanted = core.clients.subscribe("c", 'kind = "temp" and value > 30')
    name = core.clients.publish("c", {"kind": "temp", "value": 31.5, "raw": b"\x01", "ok": True}, b"12345")
    core.clients.unsubscribe("c", 'value > 30 and kind = "temp"')
    assert name == EventId(0, 1, 1)
    assert core.env.records == [
        ("subscribed", {"client": "c", "filter": str(wanted), "hash": wanted.hash.hex(), "constraints": [
            {"name": "kind", "op": "=", "values": [{"s": "temp"}]},
            {"name": "value", "op": ">", "values": [{"n": 30}]}]}),
        ("published", {"client": "c", "event": "0.1.1", "bytes": 5, "attributes": [
            {"name": "kind", "value": {"s": "temp"}}, {"name": "value", "value": {"n": 31.5}},
            {"name": "raw", "value": {"x": "01"}}, {"name": "ok", "value": {"b": True}}]}),
        ("delivered", {"client": "c", "event": "0.1.1", "hops": 0, "published": 2.5, "recovered": False}),
        ("unsubscribed", {"client": "c", "hash": wanted.hash.hex()})]
    (_, event), = core.delivered
    assert event.payload == b"12345" and event.published == 2.5


def test_an_event_is_delivered_once_however_many_filters_match():
    core = alone()
    core.attach("d")
    for text in ("x > 1", "x > 2", "*"):
        core.clients.subscribe("c", text)
    core.clients.subscribe("d", "x > 100")
    core.clients.publish("d", {"x": 5})
    assert [client for client, _ in core.delivered] == ["c"]


def test_repeated_and_unknown_requests_change_nothing():
    core = alone()
    core.clients.subscribe("c", "x > 1")
    core.clients.subscribe("c", "x > 1")
    core.clients.unsubscribe("c", "x > 2")
    assert [kind for kind, _ in core.env.records] == ["subscribed"]


def test_detaching_takes_the_subscriptions_along():
    core = alone()
    core.clients.subscribe("c", "x > 1")
    core.clients.subscribe("c", "x > 2")
    core.clients.detach("c")
    assert len(core.routing.table) == 0
    assert len(core.env.of_kind("unsubscribed")) == 2
    core.attach("c")
    core.clients.publish("c", {"x": 5})
    assert core.delivered == []


def test_the_publisher_may_change_its_attributes_afterwards():
    core = alone()
    core.clients.subscribe("c", "*")
    attributes = {"x": 1}
    core.clients.publish("c", attributes)
    attributes["x"] = 2
    assert core.delivered[0][1].attributes == {"x": 1}


def test_sequences_count_the_events_of_a_node_not_of_a_client():
    core = alone()
    core.attach("d")
    assert [core.clients.publish(client, {}).sequence for client in "cdc"] == [1, 2, 3]


@pytest.mark.parametrize("ask, found", [
    (lambda c: c.publish("x", {}), "'x' is not attached"),
    (lambda c: c.subscribe("x", "*"), "'x' is not attached"),
    (lambda c: c.detach("x"), "'x' is not attached"),
    (lambda c: c.attach("c", print), "'c' is already attached"),
    (lambda c: c.attach("", print), "1 to 64 characters"),
    (lambda c: c.attach("n" * 65, print), "1 to 64 characters"),
    (lambda c: c.publish("c", {}, bytes(MAX_PAYLOAD + 1)), "payload: found 32769 bytes"),
])
def test_what_cannot_be_done_is_a_sentence(ask, found):
    core = alone()
    with pytest.raises(ClientError, match=found):
        ask(core.clients)
    assert not core.env.records


@pytest.mark.parametrize("ask", [
    lambda c: c.subscribe("c", "kind ="),
    lambda c: c.publish("c", {"x": None}),
    lambda c: c.publish("c", {"x": float("nan")}),
    lambda c: c.publish("c", {f"a{i}": i for i in range(33)}),
])
def test_bad_filters_and_attributes_are_refused_before_anything_happens(ask):
    core = alone()
    with pytest.raises(FilterError):
        ask(core.clients)
    assert not core.env.records and core.clients.publish("c", {}).sequence == 1


def test_clients_and_their_filters_are_bounded():
    core = alone()
    for i in range(MAX_FILTERS_PER_CLIENT):
        core.clients.subscribe("c", parse(f"x = {i}"))
    with pytest.raises(ClientError, match="at most 1024"):
        core.clients.subscribe("c", "x > 1")
    for i in range(MAX_CLIENTS - 1):
        core.attach(f"client {i}")
    with pytest.raises(ClientError, match="at most 256"):
        core.attach("one more")
    assert core.env.of_kind("refused") == [
        {"what": "filters of client c", "limit": 1024}, {"what": "clients", "limit": 256}]
