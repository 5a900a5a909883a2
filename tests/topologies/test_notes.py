"""What a scenario says in vain, or leaves open, is told: a note for every kind, and none where nothing is odd."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import topologies
from emulation import rundir, runner
from emulation.clock import Clock
from emulation.workload import Workload

WAYPOINTS = "[mobility]\narea = [300, 200]\n"
FLOW = "[[workload.subscribe]]\nfilter = 'a > 1'\n[[workload.publish]]\nhosts = [0]\nevery = 5\nevent = { a = 2 }\n"
ROW = "[[workload.publish]]\n{}\nevent = {{ a = 2 }}\n"
WANT = "[[workload.subscribe]]\nfilter = 'a > 1'\n"


def notes(tmp_path, tail: str = "", run: str = "", hosts: str = "count = 3", mobility: str = WAYPOINTS) -> list[str]:
    path = tmp_path / "odd.toml"
    length = "" if "duration" in run else "duration = 60"
    path.write_text(f"[run]\n{length}\n{run}\n[hosts]\n{hosts}\n{mobility}\n{tail}")
    scenario = topologies.load(path)
    runner.check(scenario)
    return runner.notes(scenario)


def fault(at: float, host: int, action: str) -> str:
    return f'[[faults]]\nat = {at}\nhost = {host}\naction = "{action}"\n'


LOG = '[radio]\nmodel = "log_distance"\n'
FAR = "[mobility]\npositions = [[0, 0], [100, 0], [200, 0]]\n"

ODD = [  # what is odd about it, the key that the note begins with
    ({"run": "window = [0, 60]"}, "run.window: events after 50 s are not measured"),
    ({"run": "warm_up = 20\nwindow = [0, 40]"}, "run.window: it begins at 0 s, before warm_up = 20"),
    ({"run": "window = [30, 30.001]"}, "run.window: from 30 to 30.001 s the generator publishes hardly"),
    ({"run": "duration = 600\ndeadline = 200"}, "run.deadline: 200 s, which is 3.33 min; expected s, not ms"),
    ({"run": "duration = 600\ngrace = 150"}, "run.grace: 150 s, which is 2.5 min; expected s, not ms"),
    ({"run": "duration = 100000"}, "run.duration: 100000 s, which is 27.8 h"),
    ({"run": "warm_up = 35"}, "run.warm_up: 35 s of a run of 60 s, so less than half"),
    ({"tail": "[node]\nrto_max = 500"}, "node.rto_max: 500 s in a run of 60 s"),
    ({"run": "grace = 60"}, "run.grace: an event is expected only if its subscriber subscribed 60 s before it, and no event after 50 s is measured"),
    ({"tail": "[workload]\nstart = 48"}, "run.grace: the generator subscribes at 48 s, and events are expected from 5 s"),
    ({"run": "[run.fidelity]\nnodes = 1"}, "run.fidelity.nodes: has no effect"),
    ({"tail": "[netns]\nself_check = false"}, "netns.self_check: has no effect"),
    ({"run": "journal = true", "tail": "[workload]\nroam = [2]"}, "run.journal: none is kept"),
    ({"hosts": "count = 1"}, "hosts: with one host"),
    ({"hosts": 'count = 3\nnumbers = "ids"'}, "hosts.numbers: has no effect"),
    ({"run": 'world = "netns"', "hosts": "count = 3\n[hosts.1]"}, "hosts.1: has no effect on host 1"),
    ({"run": 'world = "netns"', "hosts": "count = 3\n[hosts.1]\nnode = false"}, "hosts: host 1 runs no node and no command"),
    ({"run": 'world = "netns"', "hosts": 'count = 3\n[hosts.1]\nnode = false\ncommand = ["true"]'}, "workload: has no effect at host 1"),
    ({"run": 'world = "netns"', "hosts": 'count = 3\n[hosts.1]\ninterface = "eth7"'}, "hosts.1.interface: a run receives and sends frames on"),
    ({"mobility": "[mobility]\npositions = [[0, 0], [0, 0], [5, 5]]"}, "mobility.positions: hosts 0, 1 share a place"),
    ({"mobility": "[mobility]\npositions = [[0, 0], [9, 0], [900, 0]]"}, "mobility.positions: host 2 is out of range of everybody"),
    ({"mobility": "[mobility]\npositions = [[50.1, 8.6], [50.2, 8.7], [50.15, 8.65]]"}, "mobility.positions: all hosts stay within 0.1 m"),
    ({"mobility": "[mobility]\npositions = [[50.1, 8.6], [50.2, 8.7], [50.15, 8.65]]", "tail": '[radio]\nmodel = "log_distance"'},
     "mobility.positions: all hosts stay within 0.1 m"),
    ({"mobility": WAYPOINTS + "speed = [1000, 2000]"}, "mobility.speed: up to 2000 m/s"),
    ({"mobility": WAYPOINTS + "speed = [0.001, 0.002]"}, "mobility.speed: up to 0.002 m/s"),
    ({"mobility": WAYPOINTS + "speed = [50, 120]"}, "mobility.speed: up to 120 m/s (432 km/h)"),
    ({"mobility": WAYPOINTS + "pause = [5000, 6000]"}, "mobility.pause: 5000 s and more"),
    ({"mobility": WAYPOINTS + "pause = [0, 30000]"}, "mobility.pause: up to 30000 s, but the run lasts 60 s"),
    ({"mobility": "[mobility]\narea = [0.3, 0.2]"}, "mobility.area: 0.3 m x 0.2 m"),
    ({"mobility": "[mobility]\narea = [6, 5]"}, "mobility.area: 6 m x 5 m"),
    ({"mobility": "[mobility]\npositions = [[0, 0], [0.3, 5], [2, 2]]"}, "mobility.positions: all hosts stay within 5 m; expected places in m, not km"),
    ({"mobility": FAR, "tail": "[[radio.links]]\nfrom = 2\nto = 0\nloss = 0.5"}, "radio.links[0]: hosts 2, 0 are out of range of each other"),
    ({"mobility": FAR, "tail": '[[faults]]\nat = 5\nlink = [0, 2]\naction = "cut"'}, "faults[0]: hosts 0, 2 are out of range of each other"),
    ({"tail": "[workload]\nkinds = 0"}, "workload: nobody subscribes and nothing is published"),
    ({"tail": "[radio]\nrange = 1"}, "radio.range: 1 m in an area"),
    ({"tail": "[radio]\nloss = 1"}, "radio.loss: 1, so no frame"),
    ({"tail": "[radio]\nbase_rate = 6000"}, "radio.base_rate: 6000 bit/s, so 100 bytes take 0.13 s"),
    ({"tail": "[radio]\nbase_rate = 6000\ndata_rate = 24000"}, "radio.data_rate: 24000 bit/s, so"),
    ({"tail": "[radio]\ndelay = 10"}, "radio.delay: 10 s with run.deadline = 10"),
    ({"tail": "[radio]\ndelay = 0.1"}, "radio.delay: 0.1 s each way, but a host waits only node.request_wait = 0.15 s"),
    ({"tail": "[radio]\ndelay = 0.3\n[node]\nrequest_wait = 1"}, "radio.delay: 0.3 s each way, but a host waits only node.join_wait = 0.5 s"),
    ({"tail": "[radio]\ndelay = 0.3\n[node]\nrequest_wait = 1\njoin_wait = 2\nchannel_give_up = 0.6"}, "radio.delay: 0.3 s each way, but a host waits only node.channel_give_up = 0.6 s"),
    ({"tail": "[workload]\nkinds = 3\npayload = 100\n[[workload.publish]]\nhosts = [0]\nat = 9\nevent = { kind = 'k01' }"},
     "workload.payload: 100 bytes are added to the generator's events only"),
    ({"mobility": "[mobility]\npositions = [[0, 10, 20], [1, 30, 40], [2, 50, 60]]\n"}, "mobility.positions: the first number of each place looks like its"),
    ({"tail": "[radio]\ndata_rate = 1e6"}, "radio.data_rate: 1e+06 bit/s, slower than base_rate"),
    ({"tail": "[[radio.links]]\nfrom = 0\nto = 1\nloss = 0"}, "radio.links[0]: loss = 0, the same as radio.loss"),
    ({"tail": '[radio]\nmodel = "log_distance"\nshadowing = 0\ncoherence = 5'}, "radio.coherence: has no effect"),
    ({"run": 'world = "hwsim"', "tail": "[radio]\nbase_rate = 7e6"}, "radio.base_rate: 7e+06 bit/s is not a rate of 802.11a; frames are sent at 6e+06"),
    ({"run": 'world = "mininet"', "tail": "[radio]\nqueue = 5"}, "radio.queue: has no effect"),
    ({"tail": "[node]\ngossip_interval = 2\ncache_bytes = 5000"}, "node.gossip_interval, node.cache_bytes: have no effect without node.recovery"),
    ({"tail": '[node]\nrecovery = "push"\ngossip_subscribers = 0.1'}, "node.gossip_subscribers: has no effect"),
    ({"tail": '[node]\nrecovery = "push"\ncache_bytes = 0'}, "node.cache_bytes: 0"),
    ({"tail": '[node]\nrecovery = "push"\ngossip_forward = 0'}, "node.gossip_forward: 0"),
    ({"tail": '[node]\nrecovery = "combined"\ngossip_interval = 100'}, "node.gossip_interval: 100 s in a run of 60 s"),
    ({"tail": '[node]\nrecovery = "combined"\nlost_patience = 0.1'}, "node.lost_patience: 0.1 s is less than a round"),
    ({"tail": '[node]\nflush = "path"'}, "node.flush: has no effect"),
    ({"tail": "[node]\nroam_margin = 0.5"}, "node.roam_margin: has no effect"),
    ({"tail": '[node]\ntree = "none"\nstrategy = "flood"\nleader_interval = 1'}, "node.leader_interval: has no effect"),
    ({"tail": '[node]\nreconcile = "strawman"\nunsubscription_timer = 1'}, "node.unsubscription_timer: has no effect"),
    ({"tail": "[node]\nhello_interval = 60"}, "node.hello_interval: 3 beacons at 60 s"),
    ({"tail": "[workload]\npayload = 5000\n[node]\nchannel_queue = 4096"}, "node.channel_queue: 4096 bytes, but an event of the workload takes 5028 with its header"),
    ({"tail": "[node]\nchannel_queue = 4096\n" + FLOW.replace("a = 2", "a = 2, " + ", ".join(f'b{k} = "{"x" * 1000}"' for k in range(5)))},
     "node.channel_queue: 4096 bytes, but an event of the workload takes 5050 with its header"),
    ({"tail": "[workload]\npayload = 4090\n[node]\nchannel_queue = 4096"}, "node.channel_queue: 4096 bytes, but an event of the workload takes 41"),
    ({"tail": "[workload]\npayload = 4090\nroam = [2]\n[node]\nclient_buffer = 4096"}, "node.client_buffer: 4096 bytes, but an event of the workload takes 41"),
    ({"tail": '[workload]\npayload = 4090\n[node]\nrecovery = "push"\ncache_bytes = 4200'}, "node.cache_bytes: 4200 bytes, but an event of the workload takes 42"),
    *(({"tail": f'[node]\nreconcile = "path"\n{key} = 60'}, f"node.{key}: 60 s in a run of 60 s: ") for key in (
        "request_wait", "join_wait", "merge_wait", "unsubscription_timer", "activate_wait", "path_wait", "channel_give_up", "traffic_interval")),
    ({"tail": '[node]\nreconcile = "informed"\nsubscription_timer = 100'}, "node.subscription_timer: 100 s in a run of 60 s: "),
    ({"tail": "[node]\nrto_initial = 60\nrto_max = 60"}, "node.rto_initial: 60 s in a run of 60 s: "),
    ({"tail": "[node]\nrto_initial = 60\nrto_max = 60\nrto_min = 60"}, "node.rto_min: 60 s in a run of 60 s: "),
    *(({"tail": f"[workload]\nroam = [2]\n[node]\n{key} = 60"}, f"node.{key}: 60 s in a run of 60 s: ") for key in ("handoff_wait", "roam_dwell")),
    ({"tail": "[node]\nchannel_give_up = 0.1"}, "node.channel_give_up: 0.1 s"),
    ({"tail": "[workload]\npublish_interval = 2\n" + FLOW}, "workload.publish_interval: has no effect without the generator"),
    ({"tail": "[workload]\npublish_interval = 0\npayload = 5\n[[workload.publish]]\nhosts = [1]\nat = 9\nevent = { kind = 'k01' }"},
     "workload.publish_interval, workload.payload: have no effect"),
    ({"tail": "[workload]\npublish_interval = 1000"}, "workload.publish_interval: 1000 s, but the generator runs for 60"),
    ({"tail": "[workload]\nstart = 55"}, "workload.start: 55 s, after the end of run.window"),
    ({"tail": "[workload]\nkinds = 1000000"}, "workload.kinds: 1,000,000"),
    ({"tail": "[workload]\npayload = 32768\npublish_interval = 0.01"}, "workload.publish_interval: 3 hosts with an event each"),
    ({"tail": "[workload]\nkinds = 2\n[[workload.subscribe]]\nuntil = 30\nfilter = 'kind = \"k01\"'"}, "workload.subscribe[0].until: hosts to which"),
    ({"tail": FLOW + "[[workload.publish]]\nhosts = [0]\nat = 20\nuntil = 40\nevent = { a = 3 }"},
     "workload.publish[1].until: has no effect on a single event"),
    ({"tail": FLOW.replace("every = 5", "every = 5\nuntil = 400")}, "workload.publish[0].until: 400 s, but the run ends at 60"),
    ({"tail": FLOW.replace("every = 5", "at = 20\nevery = 500")}, "workload.publish[0].every: 500 s after 20 s"),
    ({"tail": FLOW.replace("every = 5", "every = 5\nspread = 2")}, "workload.publish[0].spread: with one host"),
    ({"tail": FLOW.replace("hosts = [0]\nevery = 5", "at = 50\nspread = 30")}, "workload.publish[0].spread: 30 s from 50 s on"),
    ({"run": "warm_up = 20", "tail": FLOW.replace("every = 5", "at = 9")}, "workload.publish[0]: all of its events are outside 20 to 50 s"),
    ({"tail": FLOW.replace("every = 5", "at = 58")}, "workload.publish[0]: all of its events are outside 0 to 50 s"),
    ({"tail": FLOW.replace("every = 5", "at = 1")}, "workload.subscribe[0]: every event that matches a > 1 is published less than run.grace"),
    ({"tail": FLOW.replace("'a > 1'", "'a > 1'\nat = 50")}, "workload.subscribe[0].at: 50 s"),
    ({"tail": FLOW.replace("'a > 1'", "'a > 1'\nat = 10\nuntil = 12")}, "workload.subscribe[0].until: it lasts 2 s"),
    ({"tail": FLOW.replace("'a > 1'", "'a > 1'\nuntil = 60")}, "workload.subscribe[0].until: 60 s, but the run ends at 60"),
    *(({"tail": FLOW.replace("a > 1", wrong)}, "workload.subscribe[0].filter: no event of the workload matches") for wrong in (
        "A > 1", "b exists", 'a = "2"')),
    *(({"tail": tail + "[[workload.subscribe]]\nfilter = 'a > 5 and a < 3'"}, f"workload.subscribe[{k}].filter: can never match: a < 3 and a > 5, which")
      for k, tail in enumerate(("", FLOW))),
    ({"tail": "[workload]\nkinds = 5\n[[workload.subscribe]]\nfilter = 'kind = \"k5\"'"}, "workload.subscribe[0].filter: no event"),
    ({"tail": FLOW + "[[workload.publish]]\nhosts = [0]\nat = 9\nevent = { b = 1 }"}, "workload.publish[1].event: no subscription"),
    ({"tail": FLOW.replace("'a > 1'", "'a > 1'\nhosts = [0]")}, "workload.subscribe[0]: only its own host publishes"),
    ({"tail": FLOW + WANT + "until = 30"}, "workload.subscribe[0] and [1]: host 0 subscribes to a > 1 twice at the same time; it counts once, and both end"),
    ({"tail": fault(5, 1, "start")}, 'faults: host 1 is absent before the first "start"'),
    ({"tail": fault(5, 1, "crash") + fault(5, 1, "start")}, "faults: 2 affect host 1 at one time"),
    ({"tail": "[[faults]]\nat = 5\nlink = [0, 1]\naction = 'cut'\n[[faults]]\nat = 5\nlink = [1, 0]\naction = 'restore'\n"},
     "faults: 2 affect the link between hosts 0, 1 at one time"),
    ({"mobility": "[mobility]\npositions = [[0, 0], [90, 0], [5000, 0]]", "tail": LOG}, "mobility.positions: host 2 is out of range of everybody"),
    ({"mobility": "[mobility]\narea = [90000, 90000]", "tail": LOG}, "radio: 195.88 m in an area of 90000 m"),
    ({"mobility": "[mobility]\npositions = [[0, 0], [900, 0], [1800, 0]]", "tail": LOG + "[[radio.links]]\nfrom = 0\nto = 2\nloss = 0.5"},
     "radio.links[0]: hosts 0, 2 are out of range of each other throughout the run (almost nothing"),
    ({"tail": '[node]\nrecovery = "push"\ncache_bytes = 10'}, "node.cache_bytes: 10"),
    ({"tail": '[node]\nrecovery = "push"\ncache_lifetime = 0.01'}, "node.cache_lifetime: 0.01 s is less than a round"),
    ({"mobility": "[mobility]\npositions = [[1, 10, 20], [2, 30, 40], [3, 50, 60]]\n"}, "mobility.positions: the first number of each place looks like its"),
    ({"tail": WANT + 2 * ROW.format("every = 0.001\nspread = 0.001")}, "workload.publish: 6,000 events per second need 1.2 times the air's capacity"),
    ({"mobility": "[mobility]\npositions = [[10, 20, 0], [30, 40, 1], [50, 60, 2]]\n"}, "mobility.positions: the third number of each place looks like its"),
    ({"mobility": "[mobility]\npositions = [[50.1, 8.6], [52.5, 13.4], [48.1, 11.5]]"}, "mobility.positions: all hosts stay within 4.8 m, far from 0, 0"),
    ({"tail": "[node]\nhello_interval = 15"}, "node.hello_interval: 3 beacons at 15 s make a neighbor, but the run lasts 60 s: there are no neighbors before 45 s"),
    ({"tail": "[node]\nhello_interval = 0.001"}, "node.hello_interval: 0.001 s, so the beacons of 10 hosts"),
    ({"tail": "[node]\nack_delay = 1"}, "node.ack_delay: 1 s, but what is not acknowledged within rto_max = 0.5 s is retransmitted"),
    ({"tail": "[workload]\nroam = [2]\n[node]\nclient_age = 0.001"}, "node.client_age: 0.001 s, but a new broker waits handoff_wait = 2 s"),
    ({"run": 'world = "netns"\n[run.fidelity]\nnodes = 20'}, "run.fidelity.nodes: 20 s, as long as run.deadline = 10"),
    ({"run": 'world = "netns"\n[run.fidelity]\ndropped = 1'}, "run.fidelity.dropped: 1, a limit that no run exceeds"),
    ({"run": 'world = "netns"\n[run.fidelity]\npositions = 1000'}, "run.fidelity.positions: 1000, a limit that no run exceeds"),
    ({"run": 'world = "netns"', "hosts": 'count = 3\ncommand = ["babeld wlan0"]'}, 'hosts.command: "babeld wlan0" is the name of a single program'),
    ({"run": 'world = "netns"', "hosts": 'count = 3\ncommand = ["babeld", "$HOST"]'}, 'hosts.command: ["babeld", "$HOST"]: no shell reads it'),
    ({"tail": "".join(fault(1, host, "crash") for host in range(3))}, "faults: all hosts are down from 1 s on, but events are measured until 50 s"),
    ({"tail": FLOW.replace("'a > 1'", "'a > 1'\nhosts = [1]").replace("every = 5", "at = 20\nevery = 5") + fault(5, 1, "crash")},
     "workload.subscribe[0]: host 1 is down by [[faults]] before any event counts there"),
    ({"tail": "[node]\nleader_interval = 60"}, "node.leader_interval: 60 s in a run of 60 s"),
    ({"run": "warm_up = 20", "tail": "[node]\ntraffic_interval = 30"}, "node.traffic_interval: 30 s, but 40 s are measured"),
    ({"tail": FLOW + fault(7, 0, "crash") + fault(21, 0, "start")}, "workload.publish[0]: 3 of its events are due while host 0 is down"),
    ({"tail": "".join(f"[[radio.links]]\nfrom = {a}\nto = {1 - a}\nloss = 1\n" for a in (0, 1)) + '[[faults]]\nat = 5\nlink = [0, 1]\naction = "cut"'},
     "faults[0]: no frame passes between hosts 0, 1 anyway"),
]  # fmt: skip


@pytest.mark.parametrize(("odd", "told"), ODD)
def test_what_is_odd_is_told(tmp_path, odd, told):
    found = notes(tmp_path, **odd)
    assert any(note.startswith(told) for note in found), found
    assert all(note.isprintable() for note in found)


SHIPPED = sorted((Path(topologies.__file__).parent).glob("*.toml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
@pytest.mark.parametrize("warm_up", [0, 1])
def test_a_first_try_of_some_seconds_is_told_once(path, warm_up):
    try:
        scenario = topologies.load(path, {"run.duration": 5, "run.deadline": 2, "run.warm_up": warm_up})
    except topologies.ScenarioError as error:
        assert "found 10 in a run of 5 s" in str(error)  # an event of its own that comes later
        return
    [note] = runner.notes(scenario)
    assert note.startswith("run.grace: ") and "a longer run.duration" in note


NEAR_LINK = '[[radio.links]]\nfrom = 1\nto = 0\nloss = 0.5\n[[faults]]\nat = 5\nlink = [2, 1]\naction = "cut"\n'


def test_nothing_is_told_of_links_between_hosts_in_range(tmp_path):
    assert notes(tmp_path, NEAR_LINK, mobility=FAR) == []


@pytest.mark.parametrize("tail", ["", FLOW, "[workload]\nroam = [2]\n", '[node]\nrecovery = "combined"\ngossip_interval = 2\n'])
def test_nothing_is_told_of_what_is_plain(tmp_path, tail):
    assert notes(tmp_path, tail) == []


@pytest.mark.parametrize(("tail", "told"), [
    (WANT + ROW.format("every = 5\nspread = 0"), "[0]: 3 events are published at one time, 0 s, and 3 or more at 11 other times"),
    (WANT + ROW.format("at = 20"), "[0]: 3 events are published at one time, 20 s: they"),
    (WANT + "".join(f"[[workload.publish]]\nhosts = [{k}]\nat = {10 + 5 * k}\nevery = 5\nevent = {{ a = 2 }}\n" for k in range(3)),
     "[0], [1], [2]: 3 events are published at one time, 20 s"),
    (WANT + "".join(f"[[workload.publish]]\nhosts = [{k}]\nat = 10\nevery = {5 * k + 5}\nevent = {{ a = 2 }}\n" for k in range(3)),
     "[0], [1], [2]: 3 events are published at one time, 10 s"),
])  # fmt: skip
def test_many_events_at_one_instant_are_told_and_can_be_spread(tmp_path, tail, told):
    assert any(note.startswith(f"workload.publish{told}") and "spread = " in note for note in notes(tmp_path, tail))
    spread = tail.replace("spread = 0\n", "").replace("event = { a = 2 }", "spread = 5\nevent = { a = 2 }")
    assert not any("at one instant" in note for note in notes(tmp_path, spread)) or tail.count("publish]]") > 1


def test_spread_hosts_begin_one_after_the_other_whoever_drives_them(tmp_path):
    notes(tmp_path, WANT + "[[workload.publish]]\nhosts = [2, 0, 1]\nat = 10\nevery = 6\nspread = 6\nuntil = 20\nevent = { a = 2 }")
    scenario = topologies.load(tmp_path / "odd.toml")
    for only in (None, [2], [0], [1]):
        clock, seen = Clock(), []

        class Broker:
            def __init__(self, host):
                self.host = host

            def publish(self, client, attributes, payload):
                seen.append((clock.now(), self.host))

            def subscribe(self, client, wanted):
                pass

        Workload(clock, scenario.workload, 3, 1, 60.0, Broker, only)
        clock.run(60.0)
        assert seen == [(t, h) for t, h in ((10, 2), (12, 0), (14, 1), (16, 2), (18, 0)) if only is None or h in only]


def test_a_trace_with_more_hosts_or_with_names_that_cannot_be_is_told(tmp_path):
    (tmp_path / "t.movements").write_text("0 1 1 90 20 20\n0 3 3 90 40 40\n0 3 3 90 50 40\n")
    trace = '[mobility]\ntrace = "t.movements"\n'
    assert any(note.startswith("hosts: the first 2 of the 3 hosts of the trace") for note in notes(tmp_path, hosts="count = 2", mobility=trace))
    assert notes(tmp_path, mobility=trace) == []


def test_the_manifest_keeps_the_notes_for_the_report_as_far_as_there_is_room(tmp_path):
    notes(tmp_path, "[node]\ngossip_interval = 2")
    out = runner.run(topologies.load(tmp_path / "odd.toml", {"run.duration": 12, "run.deadline": 2}), tmp_path / "run")
    [kept] = json.loads((out / "manifest.json").read_text())["notes"]
    assert kept == "node.gossip_interval: has no effect without node.recovery = \"push\", \"subscriber_pull\", \"publisher_pull\" or \"combined\""
    from analysis import run as runs

    assert kept in runs.read(out).notes
    many = rundir._fitting(["\u65e5" * 1000] * 50)
    assert len(json.dumps(many)) < rundir.MANIFEST_BYTES / 2 and many[-1].startswith("and 30 more notes")


def test_notes_of_one_key_do_not_hide_those_of_another(tmp_path):
    rows = "".join(ROW.format(f"hosts = [0]\nat = {at}\nuntil = 50") for at in (20, 21, 22, 23, 24))
    found = notes(tmp_path, WANT + rows + ROW.format("hosts = [1]\nat = 20\nspread = 2"))
    assert sum("].until: " in note for note in found) == 3 and "and 2 more of this kind" in " ".join(found)
    assert any(note.startswith("workload.publish[5].spread") for note in found)
