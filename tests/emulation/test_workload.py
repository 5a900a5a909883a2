"""The workload: what the filter language refuses is told before anything starts; who does what and when."""
from __future__ import annotations

import pytest
from pydantic import ValidationError

from emulation.clock import Clock
from emulation.workload import Workload, WorkloadError, check_workload
from node.clients import MAX_FILTERS_PER_CLIENT, MAX_PAYLOAD
from topologies.scenario import Publish, Subscribe
from topologies.workload import MOST_FILTERS
from topologies.workload import Workload as Table


def table(**keys) -> Table:
    return Table(**{"kinds": 0, "subscriptions": 0, **keys})


@pytest.mark.parametrize("keys, place", [
    ({"subscribe": (Subscribe(filter="n exists"), Subscribe(filter="value >"))}, r"workload\.subscribe\[1\]\.filter: "),
    ({"publish": (Publish(event={"a" * 300: 1}),)}, r"workload\.publish\[0\]\.event: "),
])
def test_what_no_node_would_take_is_named_with_its_key(keys, place):
    with pytest.raises(WorkloadError, match=place):
        check_workload(table(**keys))


def test_the_tables_bounds_are_the_nodes():
    assert table(payload=MAX_PAYLOAD).payload == MAX_PAYLOAD and MOST_FILTERS == MAX_FILTERS_PER_CLIENT
    with pytest.raises(ValidationError, match=f"less than or equal to {MAX_PAYLOAD}"):
        table(payload=MAX_PAYLOAD + 1)


def test_all_of_it_is_told_at_once_a_line_each():
    plan = table(subscribe=(Subscribe(filter="value\n>"), Subscribe(filter="(")),
                 publish=(Publish(event={"": 1}),))
    with pytest.raises(WorkloadError) as error:
        check_workload(plan)
    assert [told.split(": ")[0] for told in str(error.value).split("\n")] == [
        "workload.subscribe[0].filter", "workload.subscribe[1].filter", "workload.publish[0].event"]


class Diary:
    """A broker as the workload sees it, that writes down what its client does."""

    def __init__(self, clock: Clock, host: int, lines: list) -> None:
        self.clock, self.host, self.lines = clock, host, lines

    def attach(self, client, deliver) -> None:
        self.lines.append((self.clock.now(), self.host, "attach"))

    def subscribe(self, client, wanted) -> None:
        self.lines.append((self.clock.now(), self.host, f"+{wanted}"))

    def unsubscribe(self, client, wanted) -> None:
        self.lines.append((self.clock.now(), self.host, f"-{wanted}"))

    def publish(self, client, attributes, payload) -> None:
        self.lines.append((self.clock.now(), self.host, attributes, payload))


def diary(plan: Table, hosts: int = 2, seed: int = 1, end: float = 100.0, down: tuple = ()) -> list:
    """What the clients do; `down` hosts have no broker."""
    clock, lines = Clock(), []
    brokers = [None if host in down else Diary(clock, host, lines) for host in range(hosts)]
    workload = Workload(clock, plan, hosts, seed, end, brokers.__getitem__)
    for host, broker in enumerate(brokers):
        if broker is not None:
            workload.started(host, broker)
    clock.run(end)
    return lines


def test_explicit_entries_happen_when_they_say():
    plan = table(subscribe=(Subscribe(hosts=(1,), filter="n exists", at=3.0, until=7.0),),
                 publish=(Publish(hosts=(0,), at=1.0, every=0.5, until=2.5, event={"n": 1}),
                          Publish(at=50.0, event={"n": 2})))
    lines = diary(plan)
    assert [line for line in lines if line[2] in ("+n exists", "-n exists")] == [(3.0, 1, "+n exists"),
                                                                                 (7.0, 1, "-n exists")]
    assert [line[:2] for line in lines if line[2] == {"n": 1}] == [(1.0, 0), (1.5, 0), (2.0, 0)]
    assert [line[:2] for line in lines if line[2] == {"n": 2}] == [(50.0, 0), (50.0, 1)]


def test_the_generator_keeps_its_interval_with_jitter():
    lines = diary(table(kinds=5, subscriptions=2, publish_interval=2.0, publish_jitter=0.1, payload=3, start=10.0))
    events = [line for line in lines if isinstance(line[2], dict) and line[1] == 0]
    times = [line[0] for line in events]
    assert len(events) == pytest.approx(45, abs=1) and 10.0 <= times[0] < 12.0
    for number, time in enumerate(times):
        assert abs(time - times[0] - 2.0 * number) <= 0.2 + 1e-9
    assert {line[2]["kind"] for line in events} == {f"k{kind:02d}" for kind in range(5)}
    assert all(len(line[3]) == 3 for line in events)
    wanted = [line[2] for line in lines if line[1] == 0 and str(line[2]).startswith("+")]
    assert len(set(wanted)) == 2 and all(text.startswith('+kind = "k0') for text in wanted)


def test_one_host_that_is_down_changes_nothing_for_the_others():
    plan = table(kinds=5, subscriptions=2, publish_interval=2.0)
    assert [line for line in diary(plan, hosts=3) if line[1] != 1] == diary(plan, hosts=3, down=(1,))
