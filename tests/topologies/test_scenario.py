"""A scenario is read, completed, written and read again; its movement is that of model or trace."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mobility
import topologies
from topologies.scenario import HostFault, LinkFault, LogDistanceRadio, Trace, UnitDiskRadio

BASE = """
[run]
duration = 60
[hosts]
count = 3
[mobility]
model = "random_waypoint"
area = [300, 200]
"""


def load(tmp_path, text: str, overrides=None, name="some.toml") -> topologies.Scenario:
    path = tmp_path / name
    path.write_text(text)
    return topologies.load(path, overrides or {})


def test_defaults(tmp_path):
    scenario = load(tmp_path, BASE)
    assert scenario.run.name == "some"
    assert (scenario.run.warm_up, scenario.run.deadline, scenario.run.window) == (0.0, 10.0, (0.0, 50.0))
    assert (scenario.run.seed, scenario.run.world, scenario.run.journal, scenario.run.capture) == (
        1,
        "sim",
        False,
        True,
    )
    assert scenario.names == ["0", "1", "2"]
    assert scenario.radio == UnitDiskRadio(range=150.0)
    assert (scenario.workload.kinds, scenario.workload.subscriptions) == (20, 2)
    assert scenario.faults == ()


def test_a_mobility_without_model_is_a_random_waypoint_and_with_positions_static(tmp_path):
    given = load(tmp_path, BASE)
    left_out = load(tmp_path, BASE.replace('model = "random_waypoint"\n', ""))
    assert left_out == given and left_out.mobility.model == "random_waypoint"
    standing = load(tmp_path, "[run]\nduration = 60\n[mobility]\npositions = [[0, 0], [3, 4]]\n")
    assert (standing.mobility.model, standing.names) == ("static", ["0", "1"])


def test_the_radio_tells_the_node_its_rates(tmp_path):
    scenario = load(tmp_path, BASE + "[radio]\nbase_rate = 1e6\n")
    assert (scenario.node.base_rate, scenario.node.data_rate) == (1e6, 24e6)


def test_explicit_workload_switches_the_generator_off(tmp_path):
    text = BASE + "[[workload.subscribe]]\nfilter = 'a exists'\n"
    assert load(tmp_path, text).workload.kinds == load(tmp_path, text).workload.subscriptions == 0
    assert load(
        tmp_path, text + "[[workload.publish]]\nevent = { a = 1, b = 'x', c = true, d = 0.5 }\n"
    ).workload.publish[0].event == {"a": 1, "b": "x", "c": True, "d": 0.5}
    both = load(tmp_path, BASE + "[workload]\nkinds = 3\n[[workload.subscribe]]\nfilter = 'a exists'\n")
    assert (both.workload.kinds, both.workload.subscriptions) == (3, 2)


def test_overrides_under_dotted_keys_and_as_tables(tmp_path):
    scenario = load(
        tmp_path,
        BASE,
        {
            "run.seed": 7,
            "radio": {"range": 80.0},
            "node.hello_interval": 2.0,
            "mobility": {"start": "classic"},
        },
    )
    assert (scenario.run.seed, scenario.radio.range, scenario.node.hello_interval) == (7, 80.0, 2.0)
    assert (scenario.mobility.start, scenario.mobility.area) == ("classic", (300.0, 200.0))
    with pytest.raises(
        topologies.ScenarioError, match=r"run\.sed: found an unknown key; did you mean \"seed\""
    ):
        load(tmp_path, BASE, {"run.sed": 7})


def test_hosts_are_named_or_numbered_and_known_by_ids(tmp_path):
    text = BASE.replace("count = 3", 'names = ["anna", "ben", "carl"]')
    scenario = load(
        tmp_path,
        text
        + """
[[radio.links]]
from = "anna"
to = 2
loss = 0.5
[[faults]]
at = 5
host = "ben"
action = "crash"
[[faults]]
at = 9
link = ["carl", 0]
action = "cut"
[[workload.publish]]
hosts = ["ben", 0]
event = { a = 1 }
""",
    )
    assert scenario.names == ["anna", "ben", "carl"]
    link = scenario.radio.links[0]
    assert (link.from_, link.to, link.loss) == (0, 2, 0.5)
    assert scenario.faults == (
        HostFault(at=5.0, host=1, action="crash"),
        LinkFault(at=9.0, link=(2, 0), action="cut"),
    )
    assert scenario.workload.publish[0].hosts == (1, 0)
    assert scenario.movement().names == scenario.names


def test_static_places(tmp_path):
    scenario = load(
        tmp_path, '[run]\nduration = 20\n[mobility]\nmodel = "static"\npositions = [[0, 0], [5.5, 1]]\n'
    )
    movement = scenario.movement()
    assert (len(movement), movement.duration) == (2, 20.0)
    assert movement.positions(13.0).tolist() == [[0, 0], [5.5, 1]]


def test_random_waypoint_follows_the_seed(tmp_path):
    one, same, other = (
        load(tmp_path, BASE, {"run.seed": seed}).movement().positions(30.0) for seed in (1, 1, 2)
    )
    assert (one == same).all() and (one != other).any()


def test_a_trace_is_cut_to_the_run(tmp_path):
    (tmp_path / "traces").mkdir()
    whole = mobility.random_waypoint(5, (100, 100), (1, 2), (0, 9), 200, seed=4)
    mobility.write(whole, tmp_path / "traces/t.movements.gz")
    scenario = load(
        tmp_path,
        '[run]\nduration = 60\n[hosts]\ncount = 4\n[mobility]\ntrace = "traces/t.movements.gz"\nstart = 30\n',
    )
    movement = scenario.movement()
    assert (len(movement), movement.duration, scenario.mobility.format) == (4, 60.0, "bonnmotion")
    for t in np.linspace(0, 60, 13):
        assert movement.positions(t) == pytest.approx(whole.positions(30 + t)[:4], abs=1e-9)


def test_all_hosts_of_a_trace_by_default_with_its_names(tmp_path):
    (tmp_path / "x.scen").write_text(
        '$node_(6) set X_ 1\n$node_(9) set X_ 7\n$ns_ at 0 "$node_(9) setdest 99 0 1"\n'
    )
    scenario = load(
        tmp_path,
        '[run]\nduration = 60\n[mobility]\ntrace = "x.scen"\n'
        '[[faults]]\nat = 1\nhost = "9"\naction = "stop"\n',
    )
    assert (scenario.names, scenario.mobility.format, scenario.faults[0].host) == (["6", "9"], "ns2", 1)
    assert scenario.movement().names == ["6", "9"]


def test_a_changed_trace_is_read_again(tmp_path):
    text = '[run]\nduration = 20\n[mobility]\ntrace = "x.movements"\n'
    for x in (1.0, 22.0):
        (tmp_path / "x.movements").write_text(f"0 {x} 0\n")
        assert load(tmp_path, text).movement().positions(0.0).tolist() == [[x, 0]]


@pytest.mark.parametrize("start", [0, 17.3])
def test_a_run_repeats_from_its_own_directory(tmp_path, start):
    """The copy of the movement and the resolved scenario give the same movement bit by bit."""
    mobility.write(
        mobility.random_waypoint(4, (90, 90), (1, 2), (0, 9), 90.7, seed=4), tmp_path / "t.ns_movements"
    )
    first = load(tmp_path, f'[run]\nduration = 60.1\n[mobility]\ntrace = "t.ns_movements"\nstart = {start}\n')
    out = tmp_path / "out"
    out.mkdir()
    mobility.write(first.movement(), out / "trace.movements.gz")
    again = load(out, first.to_toml("trace.movements.gz"), name="scenario.toml")
    assert again.mobility == Trace(
        trace=str((out / "trace.movements.gz").resolve()), format="bonnmotion", start=0.0
    )
    assert again.model_copy(update={"mobility": first.mobility}) == first
    for one, other in zip(first.movement().trajectories, again.movement().trajectories):
        assert (one.times == other.times).all() and (one.points == other.points).all()


def test_the_model_stays_in_the_written_scenario(tmp_path):
    """So that other seeds can be run from it."""
    assert 'model = "random_waypoint"' in load(tmp_path, BASE).to_toml("trace.movements.gz")


numbers = st.floats(0.5, 1e4).map(lambda value: round(value, 4)) | st.integers(1, 500)


def some(**optional):
    """Tables with any of these keys."""
    return st.fixed_dictionaries({}, optional=optional)


def runs():
    names = st.text("abc-. \"'\\é", min_size=1, max_size=8)
    return some(
        warm_up=st.integers(0, 9),
        deadline=st.floats(0.1, 9.0),
        seed=st.integers(0, 2**63 - 1),
        name=names,
        journal=st.booleans(),
        capture=st.booleans(),
    )


def motions(count: int):
    pair = st.lists(numbers, min_size=2, max_size=2)
    model = st.fixed_dictionaries(
        {"model": st.just("random_waypoint"), "area": st.lists(st.integers(50, 900), min_size=2, max_size=2)},
        optional={"speed": st.just([1, 2.5]), "start": st.sampled_from(["steady", "classic"])},
    )
    places = st.lists(pair, min_size=count, max_size=count)
    return model | st.fixed_dictionaries({"model": st.just("static"), "positions": places})


def radios():
    log_distance = st.fixed_dictionaries(
        {"model": st.just("log_distance")},
        optional={"tx_power": st.floats(-10, 30), "exponent": st.floats(2, 5), "shadowing": st.floats(0, 9)},
    )
    return some(range=numbers, loss=st.floats(0, 1)) | log_distance


def workloads(host):
    value = st.text(max_size=5) | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9)
    event = st.dictionaries(st.sampled_from(["a", "b c", "é"]), value, min_size=1)
    publish = st.fixed_dictionaries(
        {"event": event},
        optional={"hosts": st.lists(host, min_size=1, unique=True), "at": st.floats(0, 20), "every": numbers},
    )
    subscribe = st.fixed_dictionaries({"filter": st.text(min_size=1, max_size=9)})
    return some(
        kinds=st.integers(2, 50),
        publish_interval=st.integers(0, 9) | st.floats(0.001, 9),
        publish=st.lists(publish, max_size=2),
        subscribe=st.lists(subscribe, max_size=2),
    )


@st.composite
def tables(draw):
    """Scenarios over all sections: what the schema takes must survive writing and reading."""
    count = draw(st.integers(1, 6))
    host = st.integers(0, count - 1)
    radio = draw(radios())
    if count > 1:
        radio["links"] = [{"from": 0, "to": count - 1, "loss": draw(st.floats(0, 1))}]
    fault = st.fixed_dictionaries(
        {"at": st.floats(0, 20), "host": host, "action": st.sampled_from(["stop", "crash", "start"])}
    )
    node = some(hello_interval=st.floats(0.1, 9), secret=st.text(max_size=9), multicast=st.booleans())
    return {
        "run": draw(runs()) | {"duration": draw(st.integers(30, 900))},
        "hosts": draw(st.sampled_from([{"count": count}, {"names": [f"n{k}" for k in range(count)]}])),
        "mobility": draw(motions(count)),
        "radio": radio,
        "node": draw(node),
        "workload": draw(workloads(host)),
        "faults": draw(st.lists(fault, max_size=2, unique_by=lambda fault: fault["host"])),
    }


@settings(max_examples=80, deadline=None)
@given(tables())
def test_what_is_written_loads_to_an_equal_scenario(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("equal")
    (folder / "empty.toml").write_text("")
    scenario = topologies.load(folder / "empty.toml", table)
    (folder / "other name.toml").write_text(scenario.to_toml(), encoding="utf-8")
    again = topologies.load(folder / "other name.toml")
    assert again == scenario
    assert again.to_toml() == scenario.to_toml()


def test_log_distance_reads_its_parameters(tmp_path):
    scenario = load(tmp_path, BASE + '[radio]\nmodel = "log_distance"\ntx_power = 10\n')
    assert isinstance(scenario.radio, LogDistanceRadio) and scenario.radio.tx_power == 10.0


def test_both_rates_reach_equally_far_unless_it_is_said(tmp_path):
    def sensitivities(keys: str) -> tuple[float, float]:
        radio = load(tmp_path, BASE + f'[radio]\nmodel = "log_distance"\n{keys}\n').radio
        return radio.sensitivity, radio.data_sensitivity

    assert sensitivities("") == (-88.0, -88.0)
    assert sensitivities("sensitivity = -95") == (-95.0, -95.0)
    assert sensitivities("sensitivity = -95\ndata_sensitivity = -80") == (-95.0, -80.0)


def test_nothing_changes_a_scenario(tmp_path):
    scenario = load(tmp_path, BASE)
    with pytest.raises(ValueError, match="frozen"):
        scenario.run.seed = 3


def test_programs_of_single_hosts_are_written_as_they_were_read(tmp_path):
    text = BASE.replace("duration = 60", 'duration = 60\nworld = "netns"', 1)
    text = text.replace("[hosts]\ncount = 3", '[hosts]\nnames = ["a", "b", "c"]\ncommand = ["true"]', 1)
    text += '\n[hosts.b]\ncommand = ["babeld", "wlan0"]\nnode = false\n[hosts.2]\nnode = true\n'
    first = load(tmp_path, text)
    assert [first.hosts.command_of(k) for k in range(3)] == [("true",), ("babeld", "wlan0"), ("true",)]
    assert [first.hosts.runs_node(k) for k in range(3)] == [True, False, True]
    written = first.to_toml()
    assert "[hosts.1]" in written and load(tmp_path, written) == first


def test_notes_say_what_is_in_order_and_perhaps_not_meant(tmp_path):
    def notes(tail: str) -> list[str]:
        return topologies.notes(load(tmp_path, BASE + tail))

    far = '[radio]\nmodel = "log_distance"\n'
    reach = "radio: half of the broadcasts (6 Mbit/s) are received at 196 m, half of the unicasts (24 Mbit/s) at {} m"
    assert notes("") == []
    assert notes(far) == [reach.format(196)]
    told, warning = notes(far + "data_sensitivity = -80\n")
    assert told == reach.format(94)
    assert warning.startswith("radio.data_sensitivity: -80 dBm with sensitivity = -88: beacons make neighbors between 94 ")
    assert notes(far + "reference_distance = 10\n")[0].startswith("radio: half")
    near = notes(far + "reference_distance = 50\n")[0]
    assert near.startswith("radio.reference_distance: 50 m: closer hosts are received no more strongly")
    [note] = notes(far + "tx_power = -50\n")
    assert note.startswith("radio.tx_power: -50 dBm less reference_loss = 46.7 dB is below sensitivity = -88 dBm")
    [note] = notes("[[workload.publish]]\nhosts = [0]\nevent = { a = 1 }\n")
    assert "nobody subscribes" in note
    [note] = notes("[[workload.subscribe]]\nfilter = 'a exists'\n")
    assert "nothing is published" in note
    [note] = notes("[workload]\npublish_interval = 0\n")
    assert "nothing is published" in note
    assert notes("[[workload.subscribe]]\nfilter = 'a exists'\n[[workload.publish]]\nhosts = [0]\nevent = { a = 1 }\n") == []
