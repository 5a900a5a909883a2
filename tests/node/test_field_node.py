"""The field node on interfaces that change under it, in one network with its own copy, over IPv6; and its file node.toml.

Real daemons in network namespaces, as in test_daemon.
"""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from cli.node import add_arguments
from node.client import Client
from node.config import NodeConfig
from node.settings import SettingsError, read
from tests.node.field_hosts import (
    PATIENCE,
    as_root,
    environment,
    hosts,
    inside,
    ip,
    joined,
    received,
    three,
    until,
)

__all__ = ["hosts", "three"]  # fixtures


def plug_in(host, number: int, address: str) -> None:
    """Give the host's namespace its device `radio` (again), on the bridge of the first namespace."""
    bridge = re.sub(r"\d+$", "0", host.namespace)
    ip("link", "add", f"port{number}", "type", "veth", "peer", "name", "radio", "netns", host.namespace, at=bridge)
    ip("link", "set", f"port{number}", "master", "air", "up", at=bridge)
    ip("address", "add", address, "brd", "+", "dev", "radio", at=host.namespace)
    ip("link", "set", "radio", "up", at=host.namespace)


@pytest.mark.needs("ip", "nsenter")
@pytest.mark.real_time
@as_root
def test_a_device_that_vanishes_and_returns_is_taken_up_again(three):
    a, b, _ = three
    for host in (a, b):
        host.start()
        host.ready()
    joined([a, b])
    ip("link", "delete", "radio", at=b.namespace)
    until(lambda: [r["state"] for r in b.kinds("interface")][-1:] == ["gone"], "the loss of the device is not noticed")
    until(lambda: a.kinds("neighbor_down"), "the neighbor's loss is not noticed")
    try:
        plug_in(b, 2, "10.77.0.22/24")  # another device, and another address
        until(lambda: [r["state"] for r in b.kinds("interface")][-1:] == ["up"], "its return is not noticed")
        with Client(a.socket) as one, Client(b.socket) as two:
            one.subscribe('kind = "back"')
            assert received(two, one, {"kind": "back"})[1].hops == 1
            two.subscribe('kind = "there"')
            assert received(one, two, {"kind": "there"})[1].hops == 1
    finally:
        ip("-4", "address", "flush", "dev", "radio", at=b.namespace)
        ip("address", "add", "10.77.0.2/24", "brd", "+", "dev", "radio", at=b.namespace)
    said = b.end()
    assert "radio has vanished; the node continues" in said and "radio is back" in said
    states = [(r["name"], r["state"]) for r in b.kinds("interface")]
    assert states[:2] == [("radio", "up"), ("radio", "gone")]


@pytest.mark.needs("ip", "nsenter")
@pytest.mark.real_time
@as_root
def test_an_address_that_changes_is_followed(three):
    a, b, _ = three
    for host in (a, b):
        host.start()
        host.ready()
    joined([a, b])
    try:
        ip("-4", "address", "flush", "dev", "radio", at=b.namespace)
        until(lambda: b.kinds("interface")[-1]["address"] is None, "the loss of the address is not noticed")
        ip("address", "add", "10.77.0.99/24", "brd", "+", "dev", "radio", at=b.namespace)
        until(lambda: b.kinds("interface")[-1]["address"] == "10.77.0.99", "the new address is not noticed")
        with Client(a.socket) as one, Client(b.socket) as two:
            two.subscribe('kind = "moved"')
            assert received(one, two, {"kind": "moved"})[1].hops == 1
    finally:
        ip("-4", "address", "flush", "dev", "radio", at=b.namespace)
        ip("address", "add", "10.77.0.2/24", "brd", "+", "dev", "radio", at=b.namespace)
    assert "radio now has the address 10.77.0.99" in b.end()
    assert not b.kinds("identity_conflict")  # what it sent from its old address and heard again was its own


@pytest.mark.needs("ip", "nsenter")
@pytest.mark.real_time
@as_root
@pytest.mark.parametrize("copied", [False, True], ids=["other-epoch", "copied-card"])
def test_two_nodes_of_one_identity_are_noticed_by_each(three, tmp_path, copied):
    a, b, _ = three
    b.node = a.node
    b.socket, b.records = tmp_path / "twin.sock", tmp_path / "twin.jsonl"
    states = [tmp_path / "one.state", tmp_path / "two.state"]
    states[0].write_text(json.dumps({"node": a.node, "epoch": 7}))
    states[1].write_text(json.dumps({"node": a.node, "epoch": 7 if copied else 9}))
    for host, state in zip((a, b), states, strict=True):
        host.start("--state", str(state))
        host.ready()
    for host in (a, b):
        until(lambda host=host: host.kinds("identity_conflict"), "a twin is not noticed")
    epochs = {8} if copied else {8, 10}
    for host in (a, b):
        assert {r["other"] for r in host.kinds("identity_conflict")} == {a.node}
        assert {e for r in host.kinds("identity_conflict") for e in r["epochs"]} == epochs
        assert f"two living nodes have the id {a.node} " in host.end()


@pytest.mark.needs("ip", "nsenter")
@pytest.mark.real_time
@as_root
def test_nodes_talk_over_ipv6_without_an_address_given(three):
    a, b, _ = three
    for host in (a, b):
        until(lambda host=host: "scope link" in ip("-6", "address", "show", "dev", "radio", "-tentative", at=host.namespace),
              "no IPv6 link-local address")
        host.start("--family", "ipv6")
        host.ready()
    joined([a, b])
    with Client(a.socket) as one, Client(b.socket) as two:
        two.subscribe('kind = "six"')
        assert received(one, two, {"kind": "six"})[1].hops == 1
    assert "(fe80::" in a.end()
    assert not a.kinds("identity_conflict")


@pytest.mark.needs("ip", "nsenter")
@pytest.mark.real_time
@as_root
def test_a_node_is_all_in_its_file_and_flags_override(three, tmp_path):
    a, _, _ = three
    config = tmp_path / "node.toml"
    a.socket = tmp_path / "made" / "for" / "it.sock"
    config.write_text(f'id = 1\ninterface = "radio"\ncontrol = "{a.socket}"\nrecords = "{tmp_path}/wrong.jsonl"\n'
                      f'state = "{tmp_path}/state"\njournal = "{tmp_path}/1.journal"\ndisk = 1\nport = 4711\n[node]\n'
                      "hello_interval = 0.1\n")
    process = subprocess.Popen([*inside(a.namespace), sys.executable, "-P", "-m", "cli", "node", "--config",
                                str(config), "--records", str(a.records)], env=environment(), stderr=subprocess.PIPE, text=True)
    try:
        a.ready()
        with Client(a.socket) as one:
            assert one.node == 1
    finally:
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and "UDP port 4711" in said
    assert a.kinds("clock") and a.kinds("node_stopped") and not (tmp_path / "wrong.jsonl").exists()
    assert json.loads((tmp_path / "1.journal").read_text().splitlines()[0])["config"]["hello_interval"] == 0.1


def command(*arguments: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-P", "-m", "cli", *arguments], env=environment(), capture_output=True, text=True)
    return done.returncode, done.stderr


BAD = {  # what node.toml says, what the error names
    'id = "one"\ninterface = "lo"': ("id: found 'one'", "whole number"),
    'id = 5000000000\ninterface = "lo"': ("id: found 5000000000", "0 to 4294967295"),
    'id = 1\ninterfce = "lo"': ("interfce", "did you mean interface?"),
    'id = 1\ninterface = "lo"\nport = 0': ("port: found 0", "1 to 65535"),
    'id = 1\ninterface = "lo"\ndisk = 0': ("disk: found 0", "(MB)"),
    'id = 1\ninterface = "lo"\naddress = "10.0.0.1"': ("address", "one of the two"),
    'id = 1\naddress = "10.0.0.256"': ("address: found '10.0.0.256'", "10.77.0.1"),
    'id = 1\ninterface = "lo"\nfamily = "ipx"': ("family: found 'ipx'", "ipv4 or ipv6"),
    'id = 1\ninterface = "lo"\nfamily = "ipv6"\nbroadcast = "10.0.0.1"': ("broadcast", "no value with family ipv6"),
    'id = 1\ninterface = "lo"\nrecords = ""': ("records", "a name"),
    'id = 1\ninterface = "lo"\nnode = 3': ("node: found 3", "[node] is a table"),
    'id = 1\ninterface = "lo"\n[radio]\nchannel = 1': ("radio", "one of them names the network"),
    'id = 1\ninterface = "lo"\n[radio]\nibss = "a"\nmesh = "b"\nchannel = 1': ("radio", "both ibss and mesh"),
    'id = 1\ninterface = "lo"\n[radio]\nibss = "a"': ("radio.channel", "such as 1"),
    'id = 1\ninterface = "lo"\n[radio]\nibss = "a"\nchanel = 1': ("radio.chanel", "did you mean channel?"),
    'id = 1\ninterface = "lo"\n[radio]\nibss = "a"\nchannel = 1\naddresses = ["10.0.0.1"]': ("10.0.0.1", "10.77.0.1/24"),
    'id = 1\ninterface = "lo"\n[node]\nhello_loses = 3': ("node.hello_loses", "did you mean hello_losses?"),
    "id = 1\n": ("interface: not found", "wlan0"),
    'interface = "lo"': ("id: not found", "--id 1"),
    "id = ": ("not a TOML file", ""),
    'id = 1\nrun = "here"': ("run: no such key", ""),
    "id = " + "[" * 5000 + "]" * 5000: ("too deeply", ""),
    f"[node]\nhello_interval = {'9' * 400}": ("node.hello_interval: found a whole number beyond 2**63", "smaller"),
    f"[node]\nhello_losses = -{'9' * 400}": ("node.hello_losses: found a whole number beyond 2**63", "smaller"),
    'id = 1\ninterface = "lo"\ncontrol = "~/node.sock"': ("control: found '~/node.sock'", "it takes a path as it is"),
    'id = 1\ninterface = "lo"\nrecords = "a\\u0000b"': ("records: found 'a\\x00b'", "a path written out"),
    'id = 1\ninterface = "lo"\nrecords = "a"\njournal = "b/../a"': ("journal", "another path than records"),
}


@pytest.mark.parametrize("text", BAD)
def test_an_error_in_the_file_names_file_key_finding_and_cure(tmp_path, text):
    path = tmp_path / "node.toml"
    path.write_text(text)
    from cli.errors import UserError
    from cli.node import run

    with pytest.raises(UserError) as caught:
        run(_parsed("--config", str(path)))
    said = str(caught.value)
    assert said.startswith(f"{path}: ") and "\n" not in said
    assert all(part in said for part in BAD[text]), said


def _parsed(*arguments: str):
    import argparse

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(arguments)


def test_a_file_of_another_system_is_read_as_well(tmp_path):
    (tmp_path / "node.toml").write_bytes(b"\xef\xbb\xbfid = 1\r\ninterface = 'lo'\r\n")
    assert read(tmp_path / "node.toml").keys == {"node": 1, "interface": "lo"}


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "node.toml")
    with pytest.raises(SettingsError, match="not a file"):
        read(tmp_path / "node.toml")


@pytest.mark.parametrize("key", [item.name for item in fields(NodeConfig) if type(item.default) is str])
def test_a_text_that_the_node_does_not_know_is_refused(tmp_path, key):
    (tmp_path / "node.toml").write_text(f'[node]\n{key} = "nonsense"\n')
    if key == "secret":
        assert read(tmp_path / "node.toml").config.secret == "nonsense"
        return
    with pytest.raises(SettingsError, match=f'node.{key}: found "nonsense"; it takes .* or '):
        read(tmp_path / "node.toml")


def test_a_file_that_is_not_there_and_a_flag_that_cannot_be(tmp_path):
    code, said = command("node", "--config", str(tmp_path / "gone.toml"))
    assert code == 2 and "gone.toml: No such file or directory" in said
    for flags, part in ((["--port", "70000"], "--port 70000: it takes a number from 1 to 65535"),
                        (["--broadcast", "ten"], "--broadcast 'ten': it takes an IPv4 address"),
                        (["--interface", "wlan9"], "there is no interface wlan9; there are")):
        code, said = command("node", "--id", "1", *([] if "--interface" in flags else ["--interface", "lo"]), *flags)
        assert code == 2 and part in said and said.count("\n") == 1, said


@pytest.mark.parametrize(("line", "told"), [
    ("hello_interval = 500", "node.hello_interval: 3 beacons at 500 s make a neighbor, so there is none for 1500 s"),
    ("leader_interval = 3600", "node.leader_interval: 3600 s: a tree is told so seldom of its leader"),
    ("request_wait = 60", "node.request_wait: 60 s: a seeker waits so long before it joins"),
    ("merge_wait = 60", "node.merge_wait: 60 s: two trees that meet wait so long to become one"),
    ("hello_interval = 2", None), ('tree = "none"\nstrategy = "flood"\nmerge_wait = 60', None),
])  # fmt: skip
def test_timers_with_which_nothing_happens_are_told_when_a_node_starts(tmp_path, line, told):
    (tmp_path / "node.toml").write_text(f'id = 1\ninterface = "wlan9"\n[node]\n{line}\n')
    code, said = command("node", "--config", str(tmp_path / "node.toml"))
    *notes, last = said.splitlines()
    assert code == 2 and "there is no interface wlan9" in last
    assert [note.partition("roamcast: ")[2] for note in notes] == ([told] if told else [])


def test_a_scenario_may_stand_in_the_files_place():
    file = read(Path(__file__).resolve().parents[2] / "topologies" / "park-12.toml")
    assert file.keys == {} and file.network is None


def test_the_table_radio_is_the_network(tmp_path):
    path = tmp_path / "node.toml"
    path.write_text('[radio]\nmesh = "web"\nchannel = 6\naddresses = ["10.7.0.1/24", "fd77::1/64"]\ncountry = "DE"\n')
    network = read(path).network
    assert (network.mode, network.name, network.channel, network.country) == ("mesh", "web", 6, "DE")
    assert network.addresses == ("10.7.0.1/24", "fd77::1/64")
    path.write_text('[radio]\nibss = "web"\nchannel = 6\ncountry = "Germany"\n')
    with pytest.raises(SettingsError, match="two capital letters"):
        read(path)


def unit(folder: Path) -> str:
    (folder / "node.toml").write_text('id = 1\ninterface = "wlan0"\n')
    return subprocess.run([sys.executable, "-P", "-m", "cli", "node", "--config", str(folder / "node.toml"), "--unit"],
                          env=environment(), capture_output=True, text=True, check=True).stdout


def test_the_unit_sets_the_radio_up_and_runs_this_node(tmp_path):
    shown = unit(tmp_path)
    starts = re.findall(r"^ExecStart(?:Pre)?=(\S+) (.*)$", shown, re.MULTILINE)
    assert [rest for _, rest in starts] == [f"radio up --config {tmp_path}/node.toml", f"node --config {tmp_path}/node.toml"]
    assert all(Path(program).is_file() for program, _ in starts) and "$" not in shown


@pytest.mark.needs("systemd-analyze")
def test_systemd_takes_the_unit(tmp_path):
    path = tmp_path / "roamcast.service"
    path.write_text(unit(tmp_path))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True)
    complaints = [line for line in done.stderr.splitlines() if "roamcast" in line]
    assert done.returncode == 0 and not complaints, done.stderr


@pytest.mark.parametrize(("text", "flags", "says"), [
    ("[radio]\n", [], "radio: found neither ibss nor mesh"),
    ('records = "a"\njournal = "a"\n', [], "journal: found a; it takes another path than records"),
    ('records = "a"\n', ["--state", "a"], "state: found a; it takes another path than records"),
    ('records = "~/a"\n', [], "records: found '~/a'; it takes a path as it is, which no shell fills in"),
    ('state = "$HOME/a"\n', [], "state: found '$HOME/a'; it takes a path as it is"),
    ("[hosts]\ncount = 3\n", [], "id: found beside [run] or [hosts], as a scenario has them"),
    ("[run]\n", [], "id: found beside [run] or [hosts]"),
    ("disk = 5\n", [], "disk: found 5; it takes records or journal beside it"),
    ("", ["--began", "nan"], '--began: found "nan"; give a number'),
    ("", ["--began", "0"], "--began 0: it takes a unix time within three years"),
])
def test_settings_that_would_do_nothing_or_harm_are_refused(tmp_path, text, flags, says):
    (tmp_path / "node.toml").write_text(f'id = 1\ninterface = "lo"\n{text}')
    done = subprocess.run([sys.executable, "-P", "-m", "cli", "node", "--config", tmp_path / "node.toml", *flags], cwd=tmp_path,
                          env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1, done.stderr
