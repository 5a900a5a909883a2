"""Real daemons: processes with UDP sockets, on hosts that are network namespaces behind one bridge.

The namespaces need root; without it only the parts that need no network are tested. Nothing leaves
the namespaces, and they are taken down at the end.
"""
from __future__ import annotations

import json
import random
import select
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import trio

from node import lines
from node.client import Client, ClientError
from node.daemon import Port
from node.settings import Settings
from node.shell import DaemonError
from node.shell.epoch import next_epoch
from node.shell.logs import Records
from node.shell.radio import Radio
from tests.node.field_hosts import (
    PATIENCE,
    Host,
    as_root,
    environment,
    hosts,
    inside,
    joined,
    received,
    three,
    until,
)

__all__ = ["hosts", "three"]  # fixtures


@pytest.mark.needs("ip", "nsenter")
@pytest.mark.real_time
@as_root
def test_three_hosts_publish_subscribe_and_restart(three):
    for host in three:
        host.start()
    for host in three:
        host.ready()
    joined(three)
    a, b, c = three
    with Client(a.socket) as one, Client(b.socket) as two, Client(c.socket) as other:
        assert two.subscribe('value>30 and kind = "temp"') == other.subscribe('kind = "temp" and value > 30')
        sent = {"kind": "temp", "value": 31.5, "open": True, "count": 7, "raw": b"\xff\x00"}
        name, event = received(one, two, sent)
        assert event.attributes == sent and event.payload == b"\x00payload" and event.hops >= 1
        assert event.id.startswith(f"1.{one.epoch}.")
        assert received(one, other, sent)[1].attributes == sent
        one.publish({"kind": "temp", "value": 29})
        assert all(event.attributes["value"] > 30 for event in iter(lambda: two.receive(0.5), None))
        other.publish(sent)
        until(lambda: two.receive(0), "an event by looks without a wait")
        assert two.receive(0) is None
        before = two.epoch
    b.end()
    assert b.process.returncode == 0 and not b.socket.exists()
    assert [record["epoch"] for record in b.kinds("node_stopped")] == [before]
    b.start()
    b.ready()
    with Client(a.socket) as one, Client(b.socket) as two:
        assert two.epoch == before + 1
        one.subscribe('kind = "again"')
        assert received(two, one, {"kind": "again"})[1].id.startswith(f"2.{before + 1}.")
    assert {1, 3} <= {record["neighbor"] for record in b.kinds("neighbor_up")}


@pytest.mark.needs("ip", "nsenter")
@pytest.mark.real_time
@as_root
def test_the_commands_pub_and_sub(three):
    a, b, _ = three
    for host in (a, b):
        host.start()
        host.ready()
    joined([a, b])
    roamcast = [sys.executable, "-P", "-m", "cli"]
    sub = subprocess.Popen([*roamcast, "sub", "--control", b.socket, 'kind = "temp"'], env=environment(),
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert sub.stderr.readline() == 'subscribed: kind = "temp"\n'
    def arrives() -> bool:  # the subscription takes a moment to spread
        published = subprocess.run([*roamcast, "pub", "--control", a.socket, "kind=temp", "value:=31"],
                                   env=environment(), capture_output=True, text=True)
        assert published.returncode == 0 and published.stdout.startswith("1."), published.stderr
        return bool(select.select([sub.stdout], [], [], 0.2)[0])

    until(arrives, "nothing was received")
    line = json.loads(sub.stdout.readline())
    assert line["attributes"] == {"kind": "temp", "value": 31} and line["hops"] == 1
    b.end()
    _, said = sub.communicate(timeout=PATIENCE)
    assert sub.returncode == 2 and "the node went away" in said


@pytest.mark.needs("ip", "nsenter")
@pytest.mark.real_time
@as_root
def test_an_interface_that_goes_down_and_comes_back(three):
    a, b, _ = three
    for host in (a, b):
        host.start()
        host.ready()
    joined([a, b])
    link = [*inside(b.namespace), "ip", "link", "set", "radio"]
    subprocess.run([*link, "down"], check=True)
    until(lambda: a.kinds("neighbor_down"), "the loss is not seen")
    subprocess.run([*link, "up"], check=True)
    with Client(a.socket) as one, Client(b.socket) as two:
        one.subscribe('kind = "back"')
        assert received(two, one, {"kind": "back"})[1].hops == 1
    assert "radio: cannot send to 10.77.0." in b.end()


@pytest.mark.needs("ip", "nsenter")
@pytest.mark.real_time
@as_root
def test_garbage_on_both_sockets_changes_nothing(three):
    a, b, c = three
    for host in (a, b):
        host.start()
        host.ready()
    joined([a, b])
    babble = textwrap.dedent("""
        import random, socket, time
        dice = random.Random(7)
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        for i in range(2000):
            head = b"Rc\\x01" if i % 2 else b""
            s.sendto(head + dice.randbytes(dice.randrange(1400)), ("10.77.0.255", 4710))
            if i % 20 == 0:
                time.sleep(0.02)  # or a busy machine's kernel throws most of them away
    """)
    subprocess.run([*inside(c.namespace), sys.executable, "-c", babble], check=True)
    dice = random.Random(11)
    for rubbish in [dice.randbytes(5000), b"\n\n{}\n[]\n", b'{"do":"subscribe","filter":7}\n', b'{"do":"publish"}\n',
                    b'{"do":"publish","attributes":{"a":{"bytes":"!"}}}\n', b'{"do":' + b"[" * 100_000 + b"\n",
                    b'{"do":"publish","attributes":{"n":NaN}}\n', b"x" * (2 * lines.LONGEST)]:
        with socket.socket(socket.AF_UNIX) as program:
            program.settimeout(PATIENCE)
            program.connect(str(a.socket))
            answers = program.makefile("rb")
            assert json.loads(answers.readline())["node"] == 1
            try:
                program.sendall(rubbish)
                if rubbish.endswith(b"\n"):
                    answer = json.loads(answers.readline())
                    assert answer["ok"] is False and answer["error"]
            except ConnectionError:
                assert len(rubbish) > lines.LONGEST  # turned away while it was still talking
    with Client(a.socket) as one, Client(b.socket) as two:
        two.subscribe('kind = "temp"')
        assert received(one, two, {"kind": "temp"})[1].attributes == {"kind": "temp"}
        with pytest.raises(ClientError, match="finite"):
            one.publish({"n": float("inf")})
        with pytest.raises(ClientError, match="column 6"):
            one.subscribe("kind ==== 3")
    a.end()
    assert sum(drop["datagrams"] for record in a.kinds("traffic") for drop in record["dropped"]) >= 1000
    assert not {record["neighbor"] for record in a.kinds("neighbor_up")} - {2}


@pytest.mark.needs("ip", "nsenter")
@pytest.mark.real_time
@as_root
def test_a_journal_of_the_field_replays_on_the_desk(three):
    a, b, _ = three
    a.start("--journal", str(a.folder / "1.journal"))
    b.start()
    for host in (a, b):
        host.ready()
    joined([a, b])
    with Client(a.socket) as one, Client(b.socket) as two:
        one.subscribe('kind = "temp"')
        received(two, one, {"kind": "temp", "raw": b"\x00"})
    a.end()
    replayed = subprocess.run([sys.executable, "-P", "-m", "cli", "replay", a.folder / "1.journal", "--check", a.records],
                              env=environment(), capture_output=True, text=True)
    assert "all the same" in replayed.stdout, replayed.stdout + replayed.stderr


@pytest.mark.needs("ip", "nsenter")
@pytest.mark.real_time
@as_root
def test_a_program_that_does_not_read_loses_events_and_is_told(three):
    a = three[0]
    a.start()
    a.ready()
    with Client(a.socket) as slow, Client(a.socket) as quick:
        slow.subscribe('kind = "much"')
        count = 400
        for _ in range(count):
            quick.publish({"kind": "much"}, bytes(10_000))
        got = 0
        while slow.receive(1) is not None:
            got += 1
        assert slow.lost > 0 and got + slow.lost == count
    a.end()
    assert any("waiting" in record["what"] for record in a.kinds("refused"))


@pytest.mark.needs("ip", "nsenter")
@pytest.mark.real_time
@as_root
def test_what_is_settled_has_come_to_the_tree_neighbors(three):
    a, b, _ = three
    for host in (a, b):
        host.start()
        host.ready()
    joined([a, b])
    with Client(a.socket) as one, Client(b.socket) as two:
        for turn in range(20):
            one.subscribe(f'kind = "{turn}"')
            assert one.settle(lines.LONGEST_WAIT) is True
            two.publish({"kind": f"{turn}"})  # once, and it comes
            assert one.receive(PATIENCE).attributes == {"kind": f"{turn}"}
        b.process.send_signal(signal.SIGSTOP)
        one.subscribe('kind = "more"')
        assert one.settle(0.1) is False
        b.process.send_signal(signal.SIGCONT)


@pytest.mark.needs("ip")
@as_root
def test_starts_that_cannot_be_are_one_sentence(three, tmp_path):
    a, b, _ = three
    a.start()
    a.ready()
    b.namespace = a.namespace
    assert "UDP port 4710 is in use on radio" in b.fails()
    assert "a node already listens here" in b.fails("--port", "4711", "--control", str(a.socket))
    assert "there is no interface wlan9" in subprocess_fails(b, "wlan9")
    (tmp_path / "file").touch()
    assert "is not a socket" in b.fails("--port", "4711", "--control", str(tmp_path / "file"))
    assert "cannot be kept" in b.fails("--port", "4711", "--state", str(tmp_path / "file/state"))
    assert "did you mean hello_losses" in b.fails("--config", config(tmp_path, "hello_loses = 3"))
    assert "node.ack_delay: found 11; it takes a number from 0 to 10" in b.fails(
        "--config", config(tmp_path, "ack_delay = 11"))
    assert "node.hello_up: found 9; it takes at most node.hello_window = 8" in b.fails("--config", config(tmp_path, "hello_up = 9"))
    a.end(signal.SIGKILL)
    assert a.socket.exists()
    a.start()  # the dead socket is replaced
    until(lambda: _answers(a.socket), "the node does not come back")
    a.process.send_signal(signal.SIGINT)
    assert a.process.wait(PATIENCE) == 0


def subprocess_fails(host: Host, interface: str) -> str:
    command = host.command()
    command[command.index("radio")] = interface
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    return done.stderr


def config(folder: Path, line: str) -> str:
    (folder / "bad.toml").write_text(f"[node]\n{line}\n")
    return str(folder / "bad.toml")


def _answers(path: Path) -> bool:
    try:
        Client(path, timeout=1).close()
    except ClientError:
        return False
    return True


# ---- without a network


def test_the_epoch_grows_at_every_start_with_and_without_a_clock(tmp_path, monkeypatch, capsys):
    state = tmp_path / "deep/down/state"
    first = next_epoch(state, 3)
    assert abs(first - time.time()) < 60
    monkeypatch.setattr(time, "time", lambda: 0.0)  # a Pi without a clock
    assert [next_epoch(state, 3) for _ in range(3)] == [first + 1, first + 2, first + 3]
    assert next_epoch(tmp_path / "fresh", 3) == 1
    with pytest.raises(DaemonError, match="the state of node 3"):
        next_epoch(state, 4)
    state.write_text('{"node": 3, "epoch": 7, "secret": "x", "Epoch": 9}')
    assert next_epoch(state, 3) == 8 and "found Epoch, secret besides node and epoch" in capsys.readouterr().err
    assert next_epoch(state, 3) == 9 and not capsys.readouterr().err
    state.write_text('{"node": 3, "epoch": "x"}')
    with pytest.raises(DaemonError, match="not a node's state"):
        next_epoch(state, 3)


def test_records_begin_on_a_line_of_their_own(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"t":1}\n{"t":2,"torn' + b"x" * 100_000)
    records = Records(path, 3)
    records.append(2.5, "node_started", {"epoch": 7, "version": "1"})
    records.close()
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"t": 1}, {"t": 2.5, "node": 3, "kind": "node_started", "epoch": 7, "version": "1"}]


def test_a_full_disk_loses_records_and_nothing_else(capsys):
    records = Records(Path("/dev/full"), 3)
    for _ in range(2):
        records.append(1.0, "node_stopped", {"epoch": 1})
        records.flush()
    records.close()
    assert records.lost == 2 and capsys.readouterr().err.count("records are lost") == 1


def test_a_loopback_is_told_the_broadcast_address_that_it_can_have():
    with pytest.raises(DaemonError, match="lo has no broadcast address; give --broadcast 127.255.255.255$"):
        Radio(Settings(node=1, interface="lo", port=0))


def test_what_the_people_at_the_node_must_mend_is_said_to_them(capsys):
    async def life():
        radio = Radio(Settings(node=1, interface="lo", broadcast="127.255.255.255", port=0))
        try:
            port = Port(Settings(node=1), radio, 1)
            port.record("identity_conflict", other=7, epochs=[3, 9])
            port.record("refused", what="datagrams of one life", limit=2**32 - 1)
            port.record("refused", what="neighbors", limit=256)
        finally:
            radio.close()
    trio.run(life)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and "two living nodes have the id 7 (boot epochs 3 and 9)" in said[0]
    assert "start the node again" in said[1]


def test_a_client_without_a_node_says_what_would_do(tmp_path):
    with pytest.raises(ClientError, match="no node listens here"):
        Client(tmp_path / "nobody.sock")


def test_attributes_cross_the_socket_unchanged():
    attributes = {"text": 'say "it"\n\u2028', "n": -0.5, "i": 2**53, "b": False, "raw": bytes(range(256))}
    line = lines.decode(lines.encode({"attributes": lines.attributes_out(attributes)}))
    assert lines.attributes_in(line["attributes"]) == attributes
    for bad in ([], {"a": None}, {"a": []}, {"a": {"bytes": "%"}}, {"a": {"byte": "AA=="}},
                *({"a": {"bytes": text}} for text in ("YR==", "YWJ=", "YQ", "YQ=", "Y Q==", "-_==", "YQ==YQ=="))):
        with pytest.raises(lines.BadLine):
            lines.attributes_in(bad)
