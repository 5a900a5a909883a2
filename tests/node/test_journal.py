"""The input journal: a real run's nodes, run again from it, make exactly their records."""
from __future__ import annotations

import argparse
import json
from functools import partial

import pytest

from cli import replay as command
from cli.errors import UserError
from node import __version__
from node.clients import ClientError
from node.filters import FilterError
from node.journal import JournaledBroker, JournalError, open_journal, replay
from tests.node.radio_world import RadioWorld


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of five nodes with loss, repairs, a crash, a return and clients, all of it journaled."""
    folder = tmp_path_factory.mktemp("journals")
    files = {}

    def make(node, *arguments):
        if node in files:
            files[node].close()
        files[node] = open_journal(folder / f"{node}.journal")
        return JournaledBroker(files[node], node, *arguments)

    world = RadioWorld(5, seed=12, loss=0.1, make=make, shift=0.0)  # records have the time of the world
    world.link(0, 1, 2, 3, 4, 0)
    for node, broker in world.brokers.items():
        broker.attach("c", lambda event: None)
        broker.subscribe("c", f'kind = "{"ab"[node % 2]}"')
    for step in range(20):
        world.run(1.0)
        for node, broker in world.brokers.items():
            if node < 2 or step < 10:
                broker.publish("c", {"kind": "ab"[step % 2], "raw": b"\x00\xff", "value": 0.1 * step}, b"payload")
        if step == 10:
            world.unlink(0, 1)
            world.crash(3)
        if step == 13:
            world.boot(3)
    broker = world.brokers[0]
    for refused, error in ((partial(broker.subscribe, "c", "kind ="), FilterError),
                           (partial(broker.publish, "nobody", {}), ClientError),
                           (partial(broker.publish, "c", {"x": float("inf")}), FilterError)):
        with pytest.raises(error):
            refused()
    broker.unsubscribe("c", 'kind = "a"')
    broker.detach("c")
    for node in range(5):
        world.stop(node)
        files[node].close()
    return world, folder


def originals(world, node):
    return json.loads(json.dumps([record for record in world.records if record["node"] == node]))


@pytest.mark.parametrize("node", range(5))
def test_a_replay_makes_the_same_records(run, node):
    world, folder = run
    replayed = json.loads(json.dumps(list(replay(folder / f"{node}.journal"))))
    assert replayed == originals(world, node)
    kinds = {record["kind"] for record in replayed}
    assert {"node_started", "delivered", "link_gained", "traffic", "node_stopped"} <= kinds


def test_both_lives_of_a_node_are_in_its_journal(run):
    started = [record["epoch"] for record in replay(run[1] / "3.journal") if record["kind"] == "node_started"]
    assert started == [1, 2]


def test_a_line_without_an_end_is_refused_and_not_held():
    with pytest.raises(JournalError, match="/dev/zero:1: a line of more than 16 MiB is not"):
        list(replay("/dev/zero"))


def test_a_torn_last_line_is_left_out_and_cut_off_when_the_node_returns(run, tmp_path):
    world, folder = run
    data = (folder / "1.journal").read_bytes()
    torn = tmp_path / "torn"
    whole = data.rfind(b"\n", 0, len(data) - 1) + 1
    torn.write_bytes(data[:len(data) - 5])
    replayed = json.loads(json.dumps(list(replay(torn))))
    assert replayed == originals(world, 1)[:len(replayed)] and len(replayed) > 100
    with open_journal(torn) as file:
        file.write("{}\n")
    assert torn.read_bytes() == data[:whole] + b"{}\n"


@pytest.mark.parametrize("damage, found", [
    (lambda lines: lines[10][:20] + b"\n", "11: not a line"),
    (lambda lines: b"[1]\n", "11: not a line"),
    (lambda lines: b'{"t":1.0,"in":"datagram","data":"%%%"}\n', "11: damaged line"),
    (lambda lines: b'{"t":1.0,"in":"datagram","data":"YR=="}\n', "11: damaged line"),  # bits behind the last byte
    (lambda lines: b'{"t":1.0,"in":"datagram"}\n', "11: damaged line"),
    (lambda lines: b'{"t":1.0,"in":"meteor"}\n', "11: unknown input 'meteor'"),
    (lambda lines: b'{"t":1.0,"in":"timer","number":99999}\n', "11: timer 99999 fired"),
    (lambda lines: b"[" * 100_000 + b"\n", "11: not a line"),
    *((lambda lines, t=t: b'{"t":' + t + b',"in":"flush"}\n', "11: found t = ") for t in (
        b'"1"', b"true", b"null", b"NaN", b"Infinity", b"-5", b"[1]", b"1" + b"0" * 400)),
    (lambda lines: lines[5], "11: found t = .*missing or out of order"),
    (lambda lines: lines[0].replace(b'"epoch":1', b'"epoch":1.0'), "11: node 1 in epoch 1.0"),
    (lambda lines: lines[0].replace(b'"node":1', b'"node":"1"'), "11: node 1 in epoch 1"),
    (lambda lines: b'{"t":1e5,"in":"timer","number":true}\n', "11: timer True fired"),
    (lambda lines: lines[0].replace(b'"epoch":1', b'"epoch":0'), "11: node 1 in epoch 0, which no node is"),
    (lambda lines: lines[0].replace(b'"epoch":1', b'"epoch":1' + b"0" * 20), "which no node is"),
    (lambda lines: lines[0].replace(b'"hello_up":3', b'"hello_up":[]'), r"11: hello_up of the config is \[\]"),
    (lambda lines: b'{"journal":2}\n', "11: journal format 2, this version reads 1"),
    (lambda lines: lines[0].replace(b'"hello_up"', b'"hello_down"'), "11: written by version .* 'hello_down'"),
])
def test_damage_elsewhere_names_file_and_line(run, tmp_path, damage, found):
    lines = (run[1] / "1.journal").read_bytes().splitlines(keepends=True)
    path = tmp_path / "damaged"
    path.write_bytes(b"".join([*lines[:10], damage(lines), *lines[10:]]))
    with pytest.raises(JournalError, match=found) as error:
        list(replay(path))
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_what_a_replay_does_not_heed_is_said_once(run, tmp_path):
    world, folder = run
    lines = (folder / "1.journal").read_text().splitlines(keepends=True)
    header = json.loads(lines[0])
    header |= {"version": "9.9", "site": "roof"}
    del header["config"]["hello_up"], header["config"]["join_wait"]
    lines[0] = json.dumps(header) + "\n"
    for k in (1, 5, 6):
        lines[k] = json.dumps(json.loads(lines[k]) | {"rssi": -70}) + "\n"
    path, told = tmp_path / "odd", []
    path.write_text("".join([*lines, '{"t":1']))
    assert json.loads(json.dumps(list(replay(path, told.append)))) == originals(world, 1)
    kinds = list(dict.fromkeys(json.loads(lines[k])["in"] for k in (1, 5, 6)))
    assert [note.removeprefix(f"{path}:") for note in told if "input" not in note] == [
        "1: the header has 'site', which this version does not know and passes over",
        "1: the header's config has no hello_up, join_wait: as this version has it by default",
        f"1: written by version 9.9; this is {__version__}, and may do otherwise",
        f"{len(lines) + 1}: cut short, and left out"]
    assert [note.partition("input ")[2] for note in told if "input" in note] == [
        f"{kind} has 'rssi', which this version does not know and passes over" for kind in kinds]
    told.clear()
    list(replay(folder / "1.journal", told.append))
    assert told == []


def test_inputs_before_a_header_are_damage(tmp_path):
    path = tmp_path / "headless"
    path.write_text('{"t":1.0,"in":"start"}\n')
    with pytest.raises(JournalError, match=":1: an input before"):
        list(replay(path))


def test_an_error_of_the_node_itself_comes_out_as_it_is(run, monkeypatch):
    def broken(self, datagram):
        raise KeyError("the fault met in the field")
    monkeypatch.setattr("node.broker.Broker.datagram_received", broken)
    with pytest.raises(KeyError, match="the fault"):
        list(replay(run[1] / "1.journal"))


# ---- roamcast replay ---------------------------------------------------------------------------------
def roamcast(*words):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args([str(word) for word in words]))


@pytest.fixture
def records(run, tmp_path):
    path = tmp_path / "1.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in originals(run[0], 1)))
    return path


def test_the_command_prints_the_records(run, capsys):
    assert roamcast(run[1] / "1.journal", "--until", 8.5) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert printed == [record for record in originals(run[0], 1) if record["t"] <= 8.5]


def test_the_command_checks_against_the_originals(run, records, capsys):
    assert roamcast(run[1] / "1.journal", "--check", records) == 0
    assert "all the same" in capsys.readouterr().out
    with records.open("a") as file:
        file.write('{"t": 20.0, "node"')  # torn
    assert roamcast(run[1] / "1.journal", "--check", records) == 0


def test_the_first_difference_is_named(run, records, capsys):
    lines = records.read_text().splitlines()
    lines[7] = lines[7].replace('"node": 1', '"node": 2')
    records.write_text("\n".join(lines) + "\n")
    assert roamcast(run[1] / "1.journal", "--check", records) == 1
    out = capsys.readouterr().out
    assert f"{records}:8: the first difference" in out and '"node": 2' in out and '"node": 1' in out
    assert roamcast(run[1] / "1.journal", "--check", records, "--until", 0.0) in (0, 1)


def test_missing_records_are_a_difference(run, records, capsys):
    lines = records.read_text().splitlines()
    records.write_text("\n".join(lines[:-1]) + "\n")
    assert roamcast(run[1] / "1.journal", "--check", records) == 1
    assert "recorded: nothing" in capsys.readouterr().out


def test_what_cannot_be_used_is_one_sentence(run, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text("x\n")
    journal = run[1] / "1.journal"
    for words, found in (((tmp_path / "none.journal",), "none.journal: No such file or directory"),
                         ((journal, "--check", tmp_path / "none.jsonl"), "none.jsonl: No such file"),
                         ((journal, "--check", bad), "bad.jsonl:1: not a record"),
                         ((bad,), "bad.jsonl:1: not a line of a journal")):
        with pytest.raises(UserError, match=found):
            roamcast(*words)


@pytest.mark.parametrize("content", [b"", b'{"journal": 1, "node"', b"torn"])
def test_a_file_without_a_whole_line_is_no_journal(tmp_path, capsys, content):
    (tmp_path / "1.journal").write_bytes(content)
    for more in ((), ("--check", tmp_path / "1.journal")):
        with pytest.raises(UserError, match="1.journal: there is no whole line in it; a journal holds"):
            roamcast(tmp_path / "1.journal", *more)
    assert capsys.readouterr().out == ""


def test_who_has_no_journal_is_told_what_one_is(tmp_path, records):
    for path, found in ((tmp_path / "1.journal", "No such file or directory"), (records, "not a journal")):
        sentence = f"{path.name}(:1)?: {found}; a journal holds .*roamcast run --journal"
        with pytest.raises(UserError, match=sentence) as error:
            roamcast(path)
        assert "\n" not in str(error.value)
