"""Which host is meant where one is named: by name, by id, and where numbers are names only if it is said which."""

from __future__ import annotations

import itertools

import pytest

import topologies
from cli import hosts
from cli.errors import UserError
from topologies.naming import Naming, NoHost

NODES = (1, 2, 5)  # whose ids are 0, 1 and 2
PLACES = {  # everywhere that a scenario names a host
    "workload.publish[0].hosts[0]": '[[workload.publish]]\nhosts = [{}]\nevent = {{ a = 1 }}\n',
    "workload.subscribe[0].hosts[0]": "[[workload.subscribe]]\nhosts = [{}]\nfilter = 'a exists'\n",
    "workload.roam[0]": "[workload]\nroam = [{}]\n",
    "faults[0].host": '[[faults]]\nat = 1\nhost = {}\naction = "crash"\n',
    "faults[0].link[0]": '[[faults]]\nat = 1\nlink = [{}, "5"]\naction = "cut"\n',
    "faults[0].link[1]": '[[faults]]\nat = 1\nlink = ["5", {}]\naction = "cut"\n',
    "radio.links[0].from": '[[radio.links]]\nfrom = {}\nto = "5"\nloss = 1\n',
    "radio.links[0].to": '[[radio.links]]\nfrom = "5"\nto = {}\nloss = 1\n',
    "hosts.1": '[hosts.{}]\ncommand = ["true"]\n',
}
NUMBERS = {"ids": 1, "names": 0}  # what 1 is


def scenario(tmp_path, tail: str, said: str = "", nodes=NODES) -> topologies.Scenario:
    (tmp_path / "cars.ns_movements").write_text("".join(f"$node_({node}) set X_ {50 * node}\n" for node in nodes))
    path = tmp_path / "cars.toml"
    hosts_ = f"[hosts]\n{said}\n" if said else ""
    path.write_text(f'[run]\nduration = 60\nworld = "netns"\n{hosts_}[mobility]\ntrace = "cars.ns_movements"\n{tail}')
    return topologies.load(path)


def meant(found: topologies.Scenario, place: str) -> int:
    """The host that stands at a place of the schema."""
    workload = found.workload
    return {
        "workload.publish[0].hosts[0]": lambda: workload.publish[0].hosts[0],
        "workload.subscribe[0].hosts[0]": lambda: workload.subscribe[0].hosts[0],
        "workload.roam[0]": lambda: workload.roam[0],
        "faults[0].host": lambda: found.faults[0].host,
        "faults[0].link[0]": lambda: found.faults[0].link[0],
        "faults[0].link[1]": lambda: found.faults[0].link[1],
        "radio.links[0].from": lambda: found.radio.links[0].from_,
        "radio.links[0].to": lambda: found.radio.links[0].to,
        "hosts.1": lambda: int(next(iter(found.hosts.each))),
    }[place]()


@pytest.mark.parametrize("place", PLACES)
def test_a_number_that_is_another_hosts_name_is_refused_wherever_it_stands(tmp_path, place):
    with pytest.raises(topologies.ScenarioError) as caught:
        scenario(tmp_path, PLACES[place].format(1))
    [problem] = caught.value.problems
    assert f"cars.toml: {place}: found 1, which could be an id or a name: " in problem
    assert '"1" in quotes for the host with that name or "2" for the one with that id or hosts.numbers = ' in problem


@pytest.mark.parametrize(("place", "numbers"), list(itertools.product(PLACES, NUMBERS)))
def test_what_numbers_are_can_be_said(tmp_path, place, numbers):
    found = scenario(tmp_path, PLACES[place].format(1), f'numbers = "{numbers}"')
    assert meant(found, place) == NUMBERS[numbers]
    (tmp_path / "again.toml").write_text(found.to_toml())
    assert topologies.load(tmp_path / "again.toml") == found


@pytest.mark.parametrize("place", [place for place in PLACES if place != "hosts.1"])
def test_a_number_in_quotes_is_a_name(tmp_path, place):
    assert meant(scenario(tmp_path, PLACES[place].format('"1"')), place) == 0
    with pytest.raises(topologies.ScenarioError, match=r'found "0", which is no host; known: 1, 2, 5'):
        scenario(tmp_path, PLACES[place].format('"0"'))


def test_numbers_that_are_their_hosts_ids_need_no_word(tmp_path):
    found = scenario(tmp_path, PLACES["faults[0].host"].format(1), nodes=(0, 1, 2))
    assert found.faults[0].host == 1 and found.hosts.numbers is None
    for text in ("1", "'1'"):
        assert scenario(tmp_path, PLACES["faults[0].host"].format(text), nodes=(0, 1, 2)).faults[0].host == 1


def test_beyond_the_last_host_a_number_is_no_riddle(tmp_path):
    with pytest.raises(topologies.ScenarioError, match=r"faults\[0\].host: found host 7; expected an id from 0 to 2"):
        scenario(tmp_path, PLACES["faults[0].host"].format(7))


def test_two_tables_for_one_host_and_a_host_twice_in_a_list_are_refused(tmp_path):
    with pytest.raises(topologies.ScenarioError, match=r"hosts\.1: found a second table for host 1"):
        scenario(tmp_path, '[hosts.b]\nnode = true\n[hosts.1]\nnode = false\n', 'names = ["a", "b", "c"]', nodes=(0, 1, 2))
    for table in ("publish]]\nevent = { a = 1 }", "subscribe]]\nfilter = 'a exists'"):
        with pytest.raises(topologies.ScenarioError, match=r'hosts: found host 0 \("a"\) twice; give each host once'):
            scenario(tmp_path, f'[[workload.{table}\nhosts = [0, "a"]\n', 'names = ["a", "b", "c"]', nodes=(0, 1, 2))


def test_names_that_go_against_the_traces_own_are_refused(tmp_path):
    with pytest.raises(topologies.ScenarioError, match='hosts.names: found "2" for the trace\'s host "1", but the trace has another host'):
        scenario(tmp_path, "", 'names = ["2", "1", "5"]')
    assert scenario(tmp_path, "", 'names = ["ann", "ben"]').names == ["ann", "ben"]


@pytest.mark.parametrize(("names", "numbers", "value", "host"), [
    (None, None, 3, 3), (None, None, "3", 3), (["a", "b"], None, "b", 1), (["a", "b"], None, "1", 1), (["a", "b"], None, 1, 1),
    (["1", "0"], "ids", 1, 1), (["1", "0"], "names", 1, 0), (["1", "0"], "ids", "1", 0), (["01", "00"], None, "00", 1),
])  # fmt: skip
def test_names_and_ids(names, numbers, value, host):
    assert Naming(names, 5, numbers).host(value) == host


@pytest.mark.parametrize(("names", "numbers", "value"), [
    (None, None, "x"), (["a"], None, "x"), (["1", "0"], None, 1), (["1", "0"], None, "2"), (["01", "00"], None, 1), (["a"], "names", 0),
    (["a"], None, "00"), (["a"], None, "\u0661"),
])  # fmt: skip
def test_what_names_no_host_or_two(names, numbers, value):
    with pytest.raises(NoHost):
        Naming(names, 5, numbers).host(value)


PIS = 'names = ["pi1", "pi2", "pi5"]'


@pytest.mark.parametrize("place", PLACES)
def test_a_number_at_the_end_of_another_hosts_name_is_refused_wherever_it_stands(tmp_path, place):
    tail = PLACES[place].replace('"5"', '"pi5"')
    with pytest.raises(topologies.ScenarioError) as caught:
        scenario(tmp_path, tail.format(1), PIS, nodes=(0, 1, 2))
    [problem] = caught.value.problems
    assert f'cars.toml: {place}: found 1, which is the id of host "pi2" and the number in the name of host "pi1"; ' in problem
    assert '"pi1" or "pi2", whichever is meant' in problem
    for name, host in (("pi1", 0), ("pi2", 1)):
        assert meant(scenario(tmp_path, tail.format(name if place == "hosts.1" else f'"{name}"'), PIS, nodes=(0, 1, 2)), place) == host
    found = scenario(tmp_path, tail.format(1), PIS + '\nnumbers = "ids"', nodes=(0, 1, 2))
    assert meant(found, place) == 1
    (tmp_path / "again.toml").write_text(found.to_toml())
    assert topologies.load(tmp_path / "again.toml") == found


@pytest.mark.parametrize("numbers", ["", '\nnumbers = "names"', '\nnumbers = "ids"'])
@pytest.mark.parametrize("names", [PIS, 'names = ["a", "b", "c"]', "count = 3"])
def test_a_scenario_as_written_out_means_the_same_hosts(tmp_path, names, numbers):
    name = '"pi5"' if "pi5" in names else '"c"' if "names = " in names else "2"
    found = scenario(tmp_path, PLACES["faults[0].host"].format(name), names + numbers, nodes=(0, 1, 2))
    (tmp_path / "again.toml").write_text(found.to_toml())
    assert topologies.load(tmp_path / "again.toml").faults == found.faults and found.faults[0].host == 2


@pytest.mark.parametrize(("names", "value", "ways"), [
    (["pi1", "pi2"], 1, '"pi1" or "pi2"'), (["pi1", "pi2"], "1", '"pi1" or "pi2"'), (["gate", "stand-0"], 0, '"stand-0" or "gate"'),
    (["n01", "n02"], 1, '"n01" or "n02"'), (["pi2", "pi1", "gate"], 2, '"pi2" or "gate"'), (["a1", "a2", "b1"], 1, '"a1" or "a2"'),
    (["pi1.local", "pi2.local"], 1, '"pi1.local" or "pi2.local"'), (["1-north", "2-south"], 1, '"1-north" or "2-south"'),
    (["pi1.lan24", "pi2.lan24"], 1, '"pi1.lan24" or "pi2.lan24"'), (["1st", "2nd"], 1, '"1st" or "2nd"'),
    (["node1_a", "node2_b", "gate"], 1, '"node1_a" or "node2_b"'), (["10.0.0.1", "10.0.0.2"], 1, '"10.0.0.1" or "10.0.0.2"'),
])  # fmt: skip
def test_an_id_that_is_the_number_of_another_host(names, value, ways):
    assert Naming(names).muddled
    with pytest.raises(NoHost, match=f"{ways}, whichever is meant"):
        Naming(names).host(value)


@pytest.mark.parametrize("names", [["gate", "pi1", "pi2"], ["a0", "a1", "b0", "b1"], ["a", "b"], ["pi7", "pi8"], ["0", "1"], ["x00", "x01"], ["0-north", "1-south"],
                                   ["a-5ghz", "b-5ghz", "c", "d", "e", "f"], ["pi0.lan1", "pi1.lan1"]])
def test_ids_that_nobody_takes_for_another_host_need_no_word(names):
    naming = Naming(names)
    assert not naming.muddled and [naming.host(host) for host in range(len(names))] == list(range(len(names)))


def test_the_command_line_refuses_the_number_of_another_host_too(tmp_path, capsys):
    (tmp_path / "scenario.toml").write_text(scenario(tmp_path, "", PIS, nodes=(0, 1, 2)).to_toml())
    with pytest.raises(UserError, match='found 1, which is the id of host "pi2" and the number in the name of host "pi1"; use "pi1" or "pi2"'):
        hosts.host_of(tmp_path, "1")
    assert hosts.host_of(tmp_path, "0") == hosts.host_of(tmp_path, "pi1") == 0
    assert 'this is of host 1 ("pi2")' in hosts.whose(tmp_path / "captures" / "1.pcap")


def test_the_command_line_goes_by_the_same_rules_and_says_whom_a_number_means(tmp_path, capsys):
    (tmp_path / "scenario.toml").write_text(scenario(tmp_path, "").to_toml())
    assert hosts.host_of(tmp_path, "1") == 0
    assert capsys.readouterr().err == 'roamcast: 1 is host 0 ("1"): names go before ids\n'
    with pytest.raises(UserError, match='found "0", which is no host; known: 1, 2, 5'):
        hosts.host_of(tmp_path, "0")
    assert 'this is of host 1 ("2")' in hosts.whose(tmp_path / "captures" / "1.pcap")
    (tmp_path / "scenario.toml").write_text(scenario(tmp_path, "", 'names = ["a", "b", "c"]').to_toml())
    assert hosts.host_of(tmp_path, "1") == hosts.host_of(tmp_path, "b") == 1
    assert hosts.whose(tmp_path / "captures" / "1.pcap") == capsys.readouterr().err == ""
    for text in ("3", "d"):
        with pytest.raises(UserError):
            hosts.host_of(tmp_path, text)
