"""Bad input: one line a problem, with file, key, what was found and what would do."""

from __future__ import annotations

import pytest

import topologies

GOOD = {
    "run": "duration = 60",
    "hosts": "count = 3",
    "mobility": 'model = "random_waypoint"\narea = [300, 200]',
    "radio": "",
    "node": "",
    "workload": "",
    "tail": "",
}


def _text(changes: dict[str, str]) -> str:
    parts = GOOD | changes
    return "".join(f"[{name}]\n{body}\n" if name != "tail" else body for name, body in parts.items() if body)


def _problems(tmp_path, text: str) -> list[str]:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(topologies.ScenarioError) as caught:
        topologies.load(path)
    problems = caught.value.problems
    assert str(caught.value) == "\n".join(problems)
    for problem in problems:
        assert problem.startswith(f"{path}: ") and "\n" not in problem
    return [problem.removeprefix(f"{path}: ") for problem in problems]


def _faults(*faults: tuple[float, str, str]) -> str:
    return "".join(f'[[faults]]\nat = {at}\n{struck}\naction = "{action}"\n' for at, struck, action in faults)


HUGE = "9" * 400  # beyond any float

ONE_PROBLEM = [
    # names of ours that no page has
    ({"tail": "[[radio.links]]\nfrom_ = 0\nto = 1\nloss = 1\nfrom = 0\n"}, 'radio.links[0].from_: found an unknown key; did you mean "from"?'),
    ({"hosts": "count = 3\n[hosts.each.1]\nnode = true"}, 'hosts.each: found "each", which is no host; give an id, the hosts have no names'),
    # wrong types
    ({"run": 'duration = "60"'}, 'run.duration: found "60"; expected a number'),
    ({"run": "duration = 60\njournal = 1"}, "run.journal: found 1; expected true or false"),
    ({"run": "duration = 60\nseed = 1.5"}, "run.seed: found 1.5; expected a whole number"),
    ({"run": f"duration = {HUGE}"}, f"run.duration: found {HUGE[:57]}...; expected a number"),
    ({"run": f"duration = 60\nwarm_up = {HUGE}"}, "run.warm_up: found 999"),
    ({"run": f"duration = 60\ndeadline = {HUGE}"}, "run.deadline: found 999"),
    ({"node": f"hello_interval = {HUGE}"}, "node.hello_interval: found 999"),
    ({"tail": '[[workload.publish]]\nhosts = "all"\nevent = { a = 1 }\n'}, 'workload.publish[0].hosts: found "all"; expected a list, [..]'),
    ({"tail": "[[workload.publish]]\nhosts = 1\nevent = { a = 1 }\n"}, "workload.publish[0].hosts: found 1; expected a list, [..]"),
    ({"workload": 'roam = "all"'}, 'workload.roam: found "all"; expected a list, [..]'),
    ({"tail": "[faults]\nat = 5\nhost = 1\naction = 'crash'\n"}, "faults: found one table; expected a list of tables, each under [[faults]]"),
    ({"tail": "[workload.publish]\nevent = { a = 1 }\n"}, "workload.publish: found one table; expected a list of tables, each under [[workload.publish]]"),
    ({"run": "duration = 60\nname = 3"}, "run.name: found 3; expected a text in quotes"),
    ({"run": "duration = inf"}, "run.duration: found Infinity; expected a finite number"),
    ({"run": "duration = 60\nwarm_up = true"}, "run.warm_up: found true; expected a number"),
    ({"mobility": 'model = "random_waypoint"\narea = 300'}, "mobility.area: found 300; expected a list, [..]"),
    ({"radio": "links = 3"}, "radio.links: found 3; expected a list, [..]"),
    ({"workload": "publish_interval = 'often'"}, 'workload.publish_interval: found "often"; expected a number'),
    # hosts that are named in another shape than the key's: told as they stand in the file, and once
    ({"workload": "roam = 'a'"}, 'workload.roam: found "a"; expected a list, [..]'),
    ({"workload": "roam = 1"}, "workload.roam: found 1; expected a list, [..]"),
    ({"workload": "roam = [['a'], 1]"}, 'workload.roam[0]: found ["a"]; expected a host, by id or name'),
    ({"tail": "[[workload.publish]]\nhosts = 'all'\nevent = {a = 1}\n"}, 'workload.publish[0].hosts: found "all"; expected a list'),
    ({"tail": "[[workload.publish]]\nhost = 'all'\nevent = {a = 1}\n"}, 'host: found an unknown key; did you mean "hosts"?'),
    ({"tail": "[[faults]]\nat = 1\naction = 'stop'\nhost = [1]\n"}, "faults[0].host: found [1]; expected a host, by id or name"),
    ({"tail": "[[faults]]\nat = 1\naction = 'cut'\nlink = 'a'\n"}, 'faults[0].link: found "a"; expected a list, [..]'),
    # unknown keys
    ({"run": "duration = 60\nwarmup = 5"}, 'run.warmup: found an unknown key; did you mean "warm_up"?'),
    ({"radio": "rnage = 5"}, 'radio.rnage: found an unknown key; did you mean "range"?'),
    ({"radio": "zzz = 5"}, "radio.zzz: found an unknown key; known: base_rate, data_rate,"),
    ({"radio": 'model = "log_distance"\nrange = 5'}, 'found an unknown key; it is for model = "unit_disk"'),
    ({"radio": "exponent = 3"}, 'radio.exponent: found an unknown key; it is for model = "log_distance"'),
    ({"hosts": "", "tail": "[host]\ncount = 3\n"}, 'host: found an unknown key; did you mean "hosts"?'),
    (
        {"mobility": "", "tail": "[mobilty]\narea = [300, 200]\n"},
        'mobilty: found an unknown key; did you mean "mobility"?',
    ),
    (
        {"tail": "[[workload.publish]]\nevent = { a = [1, 2] }\n"},
        "workload.publish[0].event.a: found [1, 2]; expected a text, a finite number, true or false",
    ),
    ({"tail": "[[workload.publish]]\nevent = { a = nan }\n"}, "event.a: found NaN; expected a text, a finite number,"),
    ({"node": "hello = 5"}, 'node.hello: found an unknown key; did you mean "hello_up"?'),
    ({"tail": "[workloud]\n"}, 'workloud: found an unknown key; did you mean "workload"?'),
    (
        {"tail": "[[radio.links]]\nfrom = 0\nto = 1\nlos = 1\nloss = 1\n"},
        'radio.links[0].los: found an unknown key; did you mean "loss"?',
    ),
    (
        {"tail": "[[faults]]\nat = 1\nhost = 1\naction = 'stop'\nfor = 2\n"},
        "faults[0].for: found an unknown key; ",
    ),
    (
        {"mobility": 'model = "random_waypoint"\narea = [300, 200]\npauses = [1, 2]'},
        'mobility.pauses: found an unknown key; did you mean "pause"?',
    ),
    # missing
    ({"run": "seed = 1"}, "run.duration: found nothing; add it (s: how long the run lasts)"),
    ({"hosts": ""}, "hosts.count: found nothing; add it (how many hosts), or hosts.names"),
    ({"mobility": 'model = "random_waypoint"'}, "mobility.area: found nothing; add it (m: width and height)"),
    ({"mobility": ""}, "mobility.area: found nothing; add it (m: width and height)"),
    ({"mobility": "positions = [[3, 4], [5, 6], [7, 8]]\narea = [3, 4]"}, 'mobility.area: found an unknown key; it is for model = "random_waypoint"'),
    (
        {"tail": "[[faults]]\nat = 1\naction = 'stop'\n"},
        "faults[0].host: found nothing; add it (by id or name)",
    ),
    (
        {"tail": "[[faults]]\nat = 1\nlink = [0, 1]\n"},
        'faults[0].action: found nothing; add it ("cut" or "restore": block all frames in both directions, or restore',
    ),
    (
        {"tail": "[[faults]]\nat = 1\nhost = 1\n"},
        'faults[0].action: found nothing; add it ("stop", "crash", "start", "freeze" or "thaw": end in order,',
    ),
    # values out of range
    ({"run": "duration = 0"}, "run.duration: found 0; expected above 0"),
    ({"run": "duration = 60\nseed = -1"}, "run.seed: found -1; expected 0 or more"),
    ({"hosts": "count = 0"}, "hosts.count: found 0; expected 1 or more"),
    ({"mobility": 'model = "random_waypoint"\narea = [300, 200, 100]'}, "expected at most 2 of them"),
    (
        {"mobility": 'model = "random_waypoint"\narea = [300, 200]\nspeed = [0, 2]'},
        "mobility.speed: found a minimum speed of 0; expected above 0 m/s, because with 0 the mean speed keeps falling",
    ),
    (
        {"mobility": 'model = "random_waypoint"\narea = [1e-5, 1e-5]\npause = [0, 0]'},
        "mobility.area: found legs so short that there are",
    ),
    (
        {"mobility": 'model = "random_waypoint"\narea = [3, 4]\nspeed = [2, 1]'},
        "mobility.speed: found 2 to 1; expected the lower one first",
    ),
    ({"radio": "loss = 1.5"}, "radio.loss: found 1.5; expected 1 or less"),
    ({"run": 'duration = 60\nworld = "moon"'}, 'run.world: found "moon"; expected "sim", "netns", "hwsim" or "mininet"'),
    (
        {"run": 'duration = 60\nworld = "mininet"', "radio": 'model = "log_distance"'},
        'radio.model: found "log_distance" in world "mininet", whose wmediumd has its own model of losses; use "unit_disk", or',
    ),
    (
        {"run": 'duration = 60\nworld = "mininet"', "radio": "loss = 0.25"},
        'radio.loss: found 0.25 in world "mininet", whose wmediumd has none; use run.world = "hwsim", which uses our medium',
    ),
    (
        {"run": 'duration = 60\nworld = "mininet"', "tail": '[[faults]]\nat = 5\naction = "cut"\nlink = [0, 1]\n'},
        'faults[0].action: found "cut" of a link in world "mininet"; use run.world = "hwsim"',
    ),
    ({"hosts": 'count = 3\ncommand = ["babeld"]'}, 'hosts.command: found a setting for world "sim"'),
    ({"hosts": "count = 3\n[hosts.1]\nnode = false"}, 'hosts.1.node: found a setting for world "sim"'),
    ({"hosts": 'count = 3\n[hosts.1]\ninterface = "eth1"'}, 'hosts.1.interface: found a setting for world "sim"'),
    (
        {"run": 'duration = 60\nworld = "netns"', "hosts": 'count = 3\n[hosts.1]\ninterface = "eth1"\nnode = true'},
        "hosts.1.node: found a program for a host that is a real device; leave it out",
    ),
    (
        {
            "run": 'duration = 60\nworld = "hwsim"',
            "hosts": 'count = 3\n[hosts.1]\ninterface = "eth1"\n[hosts.2]\ninterface = "eth1"',
        },
        'hosts: found interface "eth1" for two hosts; expected one interface per host',
    ),
    (
        {
            "run": 'duration = 60\nworld = "netns"',
            "hosts": 'count = 3\n[hosts.1]\ninterface = "eth1"',
            "tail": '[netns]\nneighbors = "permanent"\n',
        },
        'netns.neighbors: found "permanent", but the address of a real device is not known',
    ),
    ({"hosts": "count = 3\n[hosts.1]\nnodes = false"}, 'hosts.1.nodes: found an unknown key; did you mean "node"?'),
    (
        {"run": 'duration = 60\nworld = "netns"', "hosts": 'count = 3\n[hosts.9]\ncommand = ["x"]'},
        "hosts.9: found host 9; expected an id from 0 to 2",
    ),
    (
        {"run": 'duration = 60\nworld = "netns"', "hosts": 'count = 3\n[hosts.carl]\ncommand = ["x"]'},
        'hosts.carl: found "carl", which is no host;',
    ),
    (
        {"run": 'duration = 60\nworld = "netns"', "hosts": "count = 3\ncommand = []"},
        "hosts.command: found []; expected at least 1 of them",
    ),
    ({"tail": "[run.fidelity]\nmedium = 0\n"}, "run.fidelity.medium: found 0; expected above 0"),
    ({"node": 'tree = "fixed"'}, 'node.tree: found "fixed"; expected "maodv"'),
    (
        {"mobility": 'model = "random_waypont"\narea = [3, 4]'},
        'mobility.model: found "random_waypont"; expected "random_waypoint" or "static" or "outside", did you mean "random_waypoint"?',
    ),
    (
        {"hosts": 'names = ["a b", "c", "d"]'},
        'hosts.names[0]: found "a b"; expected 1 to 32 letters, digits, _, . or -',
    ),
    # values that do not go together
    (
        {"run": "duration = 60\nwarm_up = 60"},
        "run.warm_up: found 60 in a run of 60 s; expected less than run.duration",
    ),
    (
        {"run": "duration = 60\nwarm_up = 55"},
        "run.window: found [55, 50], which is empty; use a run longer than warm_up + deadline, or give a window",
    ),
    (
        {"run": "duration = 60\nwindow = [40, 10]"},
        "run.window: found [40, 10], which is empty; expected the start first, then the end",
    ),
    (
        {"run": "duration = 60\nwindow = [10, 70]"},
        "run.window: found [10, 70]; expected a span within the run, [0, 60]",
    ),
    ({"run": "duration = 60\ndeadline = 500"}, "run.deadline: found 500 in a run of 60 s; expected less than run.duration; both are in s"),
    ({"run": "duration = 60\nwindow = [-1, 7]"}, "run.window: found [-1, 7]; expected a span within the run, [0, 60]"),
    ({"hosts": 'count = 2\nnames = ["a"]'}, "hosts.count: found 2 together with 1 names; leave hosts.count out"),
    ({"hosts": 'names = ["a", "b", "a"]'}, 'hosts.names: found "a" twice; expected names that differ'),
    (
        {"mobility": 'model = "random_waypoint"\narea = [3, 4]\npause = [5, 1]'},
        "mobility.pause: found 5 to 1; expected 0 s or more, the lower one first",
    ),
    (
        {"mobility": 'model = "static"\npositions = [[1, 2]]'},
        "mobility.positions: found 1 for 3 hosts; expected one per host",
    ),
    ({"mobility": 'model = "static"\npositions = [[1, 2], [1, 2, 3], [1, 2]]'}, "expected the same number for all"),
    (
        {"node": 'tree = "none"\nstrategy = "subscription"'},
        'node.strategy: found "subscription" with node.tree = "none", which keeps no links; '
        'use node.tree = "maodv"',
    ),
    (
        {"node": 'strategy = "flood"'},
        'node.strategy: found "flood" with node.tree = "maodv", which keeps links that nothing would use; '
        'use node.tree = "none", or node.strategy = "subscription"',
    ),
    (
        {"node": 'strategy = "event"\nreconcile = "informed"'},
        'node.reconcile: found "informed" with node.strategy = "event", which has nothing to reconcile; '
        'use node.strategy = "subscription", or node.reconcile = "strawman"',
    ),
    (
        {"node": 'strategy = "event"\nforwarding = "covering"'},
        'node.forwarding: found "covering" with node.strategy = "event", which tells nobody of subscriptions; '
        'use node.strategy = "subscription" or "hierarchical", or node.forwarding = "identity"',
    ),
    (
        {"node": "hello_up = 5\nhello_window = 4"},
        "node.hello_up: found 5; expected at most node.hello_window = 4",
    ),
    ({"node": "rto_min = 3"}, "node.rto_initial: found 0.3; expected a number from node.rto_min = 3 to node.rto_max = 0.5"),
    (
        {"radio": "base_rate = 1e6", "node": "base_rate = 6e6"},
        "node.base_rate: found 6e+06 with radio.base_rate = 1e+06; leave node.base_rate out to use the radio's",
    ),
    (
        {"workload": "kinds = 3\nsubscriptions = 4"},
        "workload.subscriptions: found 4 of 3 kinds; expected at most workload.kinds",
    ),
    ({"workload": "start = 60"}, "workload.start: found 60 in a run of 60 s; expected a time within the run"),
    (
        {"tail": "[[workload.publish]]\nat = 61\nevent = { a = 1 }\n"},
        "workload.publish[0].at: found 61 in a run of 60 s",
    ),
    (
        {"tail": "[[workload.subscribe]]\nat = 6\nuntil = 5\nfilter = 'a exists'\n"},
        "workload.subscribe[0].until: found 5; expected a time after at = 6",
    ),
    (
        {"tail": "[[workload.publish]]\nhosts = [7]\nevent = { a = 1 }\n"},
        "workload.publish[0].hosts: found host 7; expected an id from 0 to 2",
    ),
    (
        {"tail": "[[faults]]\nat = 1\nhost = 3\naction = 'stop'\n"},
        "faults[0].host: found host 3; expected an id from 0 to 2",
    ),
    ({"tail": "[[faults]]\nat = 60\nhost = 1\naction = 'stop'\n"}, "faults[0].at: found 60 in a run of 60 s"),
    (
        {"tail": "[[faults]]\nat = 1\nhost = 'eve'\naction = 'stop'\n"},
        'faults[0].host: found "eve", which is no host; give an id, the hosts have no names',
    ),
    (
        {
            "hosts": 'names = ["anna", "ben", "carl"]',
            "tail": "[[faults]]\nat = 1\nhost = 'bem'\naction = 'stop'\n",
        },
        'faults[0].host: found "bem", which is no host; did you mean "ben"?',
    ),
    (
        {"tail": "[[faults]]\nat = 1\nlink = [1, 1]\naction = 'cut'\n"},
        "faults[0].link: found host 1 at both ends;",
    ),
    (
        {"tail": "[[faults]]\nat = 1\nlink = [0, 9]\naction = 'cut'\n"},
        "faults[0].link: found host 9; expected an id from 0 to 2",
    ),
    (
        {"tail": "[[faults]]\nat = 1\nhost = 0\nlink = [0, 1]\naction = 'stop'\n"},
        "faults[0].link: found an unknown key; give either a host or a link, not both",
    ),
    (
        {"tail": "[[faults]]\nat = 1\nhost = 0\naction = 'cut'\n"},
        'faults[0].action: found "cut"; expected "stop", "crash", "start", "freeze" or',
    ),
    (
        {"tail": "[[faults]]\nat = 1\nhost = 0\naction = 'freeze'\n"},
        'faults[0].action: found "freeze" in world "sim"; use run.world = "netns", or "crash"',
    ),
    (
        {"tail": _faults((2, "host = 1", "stop"), (3, "host = 1", "crash"))},
        'faults[1].action: found "crash" at 3 s, when host 1 is down already; leave it out',
    ),
    (
        {"tail": _faults((2, "host = 1", "start"), (3, "host = 1", "start"))},
        'faults[1].action: found "start" at 3 s, when host 1 is up already; leave it out',
    ),
    (
        {"tail": _faults((9, "host = 1", "start"), (1, "host = 1", "stop"), (5, "host = 1", "stop"))},
        'faults[2].action: found "stop" at 5 s, when host 1 is down already; leave it out',
    ),
    (
        {"tail": _faults((2, "link = [0, 1]", "cut"), (3, "link = [1, 0]", "cut"))},
        'faults[1].action: found "cut" at 3 s, when the link 1 - 0 is cut already; leave it out',
    ),
    (
        {"tail": _faults((2, "link = [0, 1]", "restore"))},
        'faults[0].action: found "restore" at 2 s, when the link 0 - 1 is not cut; leave it out',
    ),
    ({"tail": "[[radio.links]]\nfrom = 1\nto = 1\nloss = 1\n"}, "radio.links[0]: found host 1 at both ends;"),
    (
        {"tail": "[[radio.links]]\nfrom = 1\nto = 8\nloss = 1\n"},
        "radio.links[0].to: found host 8; expected an id from 0 to 2",
    ),
    (
        {"tail": "[[radio.links]]\nfrom = 1\nto = 2\nloss = 1\n" * 2},
        "radio.links[1]: found 1 to 2 a second time;",
    ),
]


@pytest.mark.parametrize(("changes", "told"), ONE_PROBLEM)
def test_one_line(tmp_path, changes, told):
    problems = _problems(tmp_path, _text(changes))
    assert len(problems) == 1
    assert told in problems[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[run]\nduration = 60\nx y\n", "not TOML: "),
        ("[run]\nduration = 60\nduration = 60\n", "not TOML: "),
    ],
)
def test_not_toml_names_the_line(tmp_path, text, told):
    (problem,) = _problems(tmp_path, text)
    assert told in problem and "line 3" in problem


def test_only_the_documented_key_is_taken(tmp_path):
    found = _problems(tmp_path, _text({"tail": "[[radio.links]]\nfrom_ = 0\nto = 1\nloss = 1\n"}))
    assert [problem.split(": found ")[0] for problem in found] == ["radio.links[0].from", "radio.links[0].from_"]


def test_sections_that_are_no_tables(tmp_path):
    problems = _problems(
        tmp_path, "run = 1\nhosts = 'x'\nmobility = []\nradio = 0\nnode = 0\nworkload = 0\nfaults = 1\n"
    )
    assert {problem.split(":")[0] for problem in problems} == {
        "run",
        "hosts",
        "mobility",
        "radio",
        "node",
        "workload",
        "faults",
    }


def test_all_problems_at_once(tmp_path):
    problems = _problems(
        tmp_path, _text({"run": "duration = -1\nsede = 1", "radio": "loss = 2", "hosts": "count = 'x'"})
    )
    assert {problem.split(":")[0] for problem in problems} == {
        "run.duration",
        "run.sede",
        "radio.loss",
        "hosts.count",
    }


def test_no_such_scenario(tmp_path):
    with pytest.raises(topologies.ScenarioError, match=r"gone\.toml: no such file; give a scenario"):
        topologies.load(tmp_path / "gone.toml")
    (tmp_path / "walk-30.toml").write_text("")
    for name, meant in (("walk-30", "walk-30.toml"), ("walk30.toml", "walk-30.toml")):
        with pytest.raises(topologies.ScenarioError, match=rf"{name}: no such file; did you mean .*/{meant}\?"):
            topologies.load(tmp_path / name)
    with pytest.raises(topologies.ScenarioError, match="cannot be read"):
        topologies.load(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(topologies.ScenarioError, match="not a text file"):
        topologies.load(tmp_path / "binary.toml")


# ---- traces ----------------------------------------------------------------------------------------------
def _with_trace(
    tmp_path, rest: str = "", duration: float = 60, hosts: str = "", trace: str = "t.movements"
) -> list[str]:
    (tmp_path / "t.movements").write_text("0 1 1 40 2 2\n0 3 3 40 4 4\n")
    return _problems(
        tmp_path, f'[run]\nduration = {duration}\n{hosts}\n[mobility]\ntrace = "{trace}"\n{rest}\n'
    )


def test_missing_trace(tmp_path):
    (problem,) = _with_trace(tmp_path, trace="traces/gone.movements")
    assert problem.startswith("mobility.trace: ") and problem.endswith(
        "gone.movements: no such file; check the name; the path is relative to the scenario"
    )


def test_trace_shorter_than_the_run(tmp_path):
    known = "(its duration comes from its last waypoint; a line duration=SECONDS in t.params next to it declares more)"
    assert _with_trace(tmp_path) == [
        f"run.duration: found 60, but the trace lasts 40 s; use at most 40, or a longer trace {known}"
    ]
    assert _with_trace(tmp_path, "start = 15", 30) == [
        "run.duration: found 30, but the trace lasts 25 s from mobility.start = 15 on; use at most 25, or a longer trace "
        + known
    ]
    assert _with_trace(tmp_path, "start = 50", 30) == [
        "mobility.start: found 50 in a trace of 40 s; expected a time within the trace"
    ]


def test_fewer_hosts_in_the_trace_than_asked(tmp_path):
    assert _with_trace(tmp_path, duration=30, hosts="[hosts]\ncount = 3") == [
        "hosts.count: found 3 hosts, but the trace has 2; use at most 2, or another trace"
    ]
    assert _with_trace(tmp_path, duration=30, hosts='[hosts]\nnames = ["a", "b", "c"]') == [
        "hosts.names: found 3 hosts, but the trace has 2; use at most 2, or another trace"
    ]


def test_a_trace_where_nothing_moves_lasts_for_ever(tmp_path):
    (tmp_path / "s.movements").write_text("0 1 1\n0 3 3\n")
    path = tmp_path / "x.toml"
    path.write_text('[run]\nduration = 600\n[mobility]\ntrace = "s.movements"\n')
    assert topologies.load(path).movement().duration == 600.0


def test_damaged_trace_names_its_line(tmp_path):
    (tmp_path / "t2.movements").write_text("0 1 1\n0 x 1\n")
    (problem,) = _with_trace(tmp_path, trace="t2.movements")
    assert problem.startswith("mobility.trace: ") and problem.endswith('t2.movements:2: found "x"; expected numbers')


def test_trace_of_unknown_format(tmp_path):
    (tmp_path / "t.dat").write_text("0 1 1\n")
    (problem,) = _with_trace(tmp_path, trace="t.dat")
    assert problem.startswith(
        'mobility.trace: found "t.dat", whose name does not indicate its format; '
        'add format = "bonnmotion" or "ns2"'
    )
    for missing in ("u.dat", "", "."):
        (problem,) = _with_trace(tmp_path, trace=missing)
        assert problem.startswith(f'mobility.trace: found "{missing}", which is not a file; ')
    (problem,) = _with_trace(tmp_path, rest='format = "gpx"')
    assert problem.startswith('mobility.format: found "gpx"; expected "bonnmotion" or "ns2"')


def test_a_trace_and_a_model_exclude_each_other(tmp_path):
    (problem,) = _with_trace(tmp_path, duration=30, rest='model = "static"')
    assert problem == (
        "mobility.model: found an unknown key; give either a trace or a model, not both"
    )


def test_tables_in_order_are_checked_beside_broken_ones(tmp_path):
    """Nothing that could be told at once waits until something else is cured."""
    text = _text({"run": "duration = 60\nwarm_up = 60", "radio": "range = '5'", "workload": "start = 60"})
    problems = _problems(tmp_path, text + "[[faults]]\nat = 1\nhost = 'eve'\naction = 'stop'\n")
    assert [problem.split(":")[0] for problem in problems] == [
        "radio.range", "faults[0].host", "run.warm_up", "workload.start"]
