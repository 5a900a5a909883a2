"""Whatever stands in a scenario or in a trace: a checked scenario, or problems of one line each."""

from __future__ import annotations

import gzip
import os
import random

import pytest

import mobility
import topologies
from topologies import check, faults, motion, netns, node, problems, radio, run, workload

VALUES = [
    '"x"', '"\\u0000\\u001b<script>"', '""', "true", "-1", "0", "1e300", "-1e300", "nan", "-inf", "1e-300",
    "99999999999999999999999999", "1979-05-27", "[]", "{}", "[[]]", "[nan]", '["a"]', "[1e300, 1e300]", "{a = 1}",
]  # fmt: skip
TABLES = {
    "[run]": (run.Run, ""),
    "[run.fidelity]": (netns.Fidelity, ""),
    "[hosts]": (run.Hosts, ""),
    "[hosts.1]": (run.HostPrograms, ""),
    "[mobility]": (motion.RandomWaypoint, 'model = "random_waypoint"\narea = [300, 200]'),
    "[mobility] ": (motion.Static, 'model = "static"\npositions = [[1, 2], [3, 4], [5, 6]]'),
    "[mobility]  ": (motion.Trace, 'trace = "t.movements"'),
    "[radio]": (radio.UnitDiskRadio, ""),
    "[radio] ": (radio.LogDistanceRadio, 'model = "log_distance"'),
    "[[radio.links]]": (radio.RadioLink, "from = 0\nto = 1\nloss = 1"),
    "[node]": (node.Node, ""),
    "[workload]": (workload.Workload, ""),
    "[[workload.subscribe]]": (workload.Subscribe, 'filter = "a exists"'),
    "[[workload.publish]]": (workload.Publish, "event = {a = 1}"),
    "[netns]": (netns.Netns, ""),
    "[[faults]]": (faults.HostFault, 'at = 1\nhost = 1\naction = "stop"'),
    "[[faults]] ": (faults.LinkFault, 'at = 1\nlink = [0, 1]\naction = "cut"'),
}
NEEDED = {"[run]": "duration = 60", "[hosts]": "count = 3", "[mobility]": TABLES["[mobility]"][1]}


def scenario(heading: str, body: str, key: str, value: str) -> str:
    heading = heading.strip()
    parts = {"[run]": NEEDED["[run]"], "[hosts]": NEEDED["[hosts]"], "[mobility]": NEEDED["[mobility]"]}
    if heading == "[mobility]":
        parts.pop("[hosts]")
    parts[heading] = body or NEEDED.get(heading, "")
    lines = [line for line in parts[heading].splitlines() if line.split(" = ")[0] != key]
    parts[heading] = "\n".join([*lines, f"{key} = {value}"])
    return "".join(f"{name}\n{text}\n" for name, text in parts.items())


def outcome(path) -> list[str]:
    """The problems of a scenario, none if it is in order; anything but lines is a failure."""
    try:
        topologies.load(path)
    except topologies.ScenarioError as error:
        told = str(error).splitlines()
        assert error.problems and 1 <= len(told) <= 21
        for problem in error.problems:
            assert problem.startswith(f"{path}: ") and problem.isprintable() and len(problem) < 600
        return error.problems
    return []


@pytest.mark.parametrize("heading", TABLES)
def test_any_value_at_any_key(tmp_path, heading):
    (tmp_path / "t.movements").write_text("0 1 1 60 2 2\n0 3 3 60 4 4\n0 3 3 60 4 4\n")
    model, body = TABLES[heading]
    refused = 0
    for name, field in model.model_fields.items():
        for value in VALUES:
            path = tmp_path / "x.toml"
            path.write_text(scenario(heading, body, field.alias or name, value), encoding="utf-8")
            refused += bool(outcome(path))
    assert refused > 5 * len(model.model_fields)


@pytest.mark.parametrize("section", ["run", "hosts", "mobility", "radio", "node", "workload", "netns", "faults"])
def test_any_value_in_place_of_a_table(tmp_path, section):
    rest = "".join(f"{name}\n{body}\n" for name, body in NEEDED.items() if name != f"[{section}]")
    for value in VALUES:
        (tmp_path / "x.toml").write_text(f"{section} = {value}\n{rest}", encoding="utf-8")
        found = outcome(tmp_path / "x.toml")
        assert found or value in ("{}", "[]")


GOOD = "".join(f"{name}\n{body}\n" for name, body in NEEDED.items())


@pytest.mark.parametrize("data", [
    b"\xef\xbb\xbf" + GOOD.encode(), GOOD.replace("\n", "\r\n").encode(), GOOD.replace("\n", "\r").encode(),
    b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode() + b"# \xc3\xa9"])  # fmt: skip
def test_byte_order_marks_and_line_ends_of_other_systems_are_read(tmp_path, data):
    (tmp_path / "x.toml").write_bytes(data)
    assert outcome(tmp_path / "x.toml") == []


@pytest.mark.parametrize("data", [
    b"", b"\0" * 99, random.Random(5).randbytes(999), GOOD.encode("utf-16"), b"x = " + b"[" * 50_000, b"[run]\nduration = " + b"9" * 9_000,
    GOOD.encode() + b"#" * (1 << 24), GOOD.encode() + b"".join(b"k%d = 1\n" % k for k in range(999))])  # fmt: skip
def test_files_that_are_no_scenarios(tmp_path, data):
    (tmp_path / "x.toml").write_bytes(data)
    assert outcome(tmp_path / "x.toml")


@pytest.mark.parametrize("key", ["a" + ".a" * 50_000, '"a b"' + ' . "\\" = ."' * 9_000, "x." * 8 + "y"])
@pytest.mark.parametrize("line", ["{} = 1", "[{}]", "[[{}]]", "x = {{ {} = 1 }}", 'y = "=" # "\nx = [{{{} = 1}}]'])
def test_a_key_of_too_many_parts_is_told_before_it_is_read(tmp_path, key, line):
    """tomllib takes memory with the square of the parts: 50,000 of them ten gigabytes."""
    (tmp_path / "x.toml").write_text(GOOD + "\n" + line.format(key))
    [problem] = outcome(tmp_path / "x.toml")
    number = GOOD.count("\n") + 2 + line.count("\n")
    assert problem == f"{tmp_path}/x.toml: line {number}: found a key of more than 8 parts; give a scenario, whose keys have fewer"


def test_what_only_looks_like_a_long_key_is_read(tmp_path):
    words = "one.two.three.four.five.six.seven.eight nine. ten .eleven"
    (tmp_path / "x.toml").write_text(f"# {words}\n{GOOD}\n[hosts.0]\n# 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5\n")
    assert outcome(tmp_path / "x.toml") == []


def strange_files(folder, ending):
    """Names under which no file can be read."""
    (folder / f"loop{ending}").symlink_to(f"loop{ending}")
    (folder / f"gone{ending}").symlink_to("nowhere")
    (folder / f"folder{ending}").mkdir()
    os.mkfifo(folder / f"pipe{ending}")
    names = [f"loop{ending}", f"gone{ending}", f"folder{ending}", f"pipe{ending}", "x" * 300, "x\0y", "", "/dev/zero"]
    return [*names, f"pipe{ending}/deeper"]


def test_what_is_no_file_is_told_at_once(tmp_path):
    for name in strange_files(tmp_path, ".toml"):
        with pytest.raises(topologies.ScenarioError) as caught:
            topologies.load(tmp_path / name)
        assert len(caught.value.problems) == 1 and "\n" not in str(caught.value)


def test_a_trace_that_is_no_file_is_told_at_once(tmp_path):
    for name in strange_files(tmp_path, ".movements"):
        text = name.replace("\0", "\\u0000")
        (tmp_path / "x.toml").write_text(f'[run]\nduration = 60\n[mobility]\ntrace = "{text}"\nformat = "bonnmotion"\n')
        [problem] = outcome(tmp_path / "x.toml")
        assert "mobility.trace" in problem


ZIPPED = gzip.compress(b"0 1 1 60 2 2\n" * 300)
DAMAGED = {
    "cut.movements.gz": ZIPPED[: len(ZIPPED) // 2],
    "sum.movements.gz": ZIPPED[:-8] + bytes(8),
    "tail.movements.gz": ZIPPED + b"garbage",
    "magic.movements.gz": b"\x1f\x8b",
    "nan.movements": b"0 nan 1 60 2 2\n",
    "far.movements": b"0 1e300 1 60 2 2\n",
    "late.movements": b"0 1 1 1e300 2 2\n",
    "back.movements": b"0 1 1 60 2 2 30 3 3\n",
    "nobody.movements": b"# no node\n",
    "empty.movements": b"",
    "zero.movements": b"0 1 1\0 60 2 2\n",
    "column.movements": b"0\n1\n1\n0\n1\n",
    "nan.ns_movements": b"$node_(0) set X_ nan\n",
    "far.ns_movements": b'$ns_ at 1.0 "$node_(0) setdest 1e300 1 1"\n',
    "slow.ns_movements": b'$ns_ at 1.0 "$node_(0) setdest 1 1 1e-300"\n',
    "long.ns_movements": b"$node_(" + b"9" * 5000 + b") set X_ 1\n",
    "binary.ns_movements": bytes(range(256)),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_traces(tmp_path, name):
    (tmp_path / name).write_bytes(DAMAGED[name])
    (tmp_path / "x.toml").write_text(f'[run]\nduration = 60\n[mobility]\ntrace = "{name}"\n')
    [problem] = outcome(tmp_path / "x.toml")
    assert "mobility.trace: " in problem and name in problem


def test_a_gzip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("mobility.textfile.MOST_BYTES", 1 << 20)
    (tmp_path / "bomb.movements.gz").write_bytes(gzip.compress(b"0 " * (1 << 24)))
    with pytest.raises(mobility.TraceError, match="more than 1 MiB of text"):
        mobility.read(tmp_path / "bomb.movements.gz")


@pytest.mark.parametrize(("text", "found"), [
    ("[hosts]\ncount = 1000000000", "100000 or less"),
    ("[hosts]\ncount = 100000\n[workload]\nkinds = 99\nsubscriptions = 99", "9,900,000 subscriptions"),
    ("[workload]\nkinds = 1000000000", "1000000 or less"),
    ("[workload]\nkinds = 2000\nsubscriptions = 1025", "1024 or less"),
    ("[workload]\npublish_interval = 1e-9", "0.001 s or more"),
    ("[workload]\npayload = 32769", "32768 or less"),
    ("".join(f"[[workload.subscribe]]\nhosts = [1]\nfilter = 'a > {k}'\n" for k in range(1025)), "expected at most 1024"),
])  # fmt: skip
def test_what_would_fill_the_memory_is_refused(tmp_path, text, found):
    hosts = "" if "[hosts]" in text else "[hosts]\ncount = 3\n"
    (tmp_path / "x.toml").write_text(f"[run]\nduration = 60\n[mobility]\n{NEEDED['[mobility]']}\n{hosts}{text}\n")
    [problem] = outcome(tmp_path / "x.toml")
    assert found in problem


MANY = 30_000
ENTRIES = ", ".join(f'"n{k}"' for k in range(MANY))


@pytest.mark.parametrize("text", [
    "".join(f"k{k} = 1\n" for k in range(MANY)),
    "".join(f"[k{k}]\n" for k in range(MANY)),
    f"{GOOD}[node]\n" + "".join(f"k{k} = 1\n" for k in range(MANY)),
    GOOD + "".join(f"[hosts.h{k}]\n" for k in range(MANY)),
    GOOD + "".join(f"[hosts.{k}]\n" for k in range(MANY)),
    GOOD + "[[faults]]\nx = 1\n" * MANY,
    GOOD + "[[faults]]\nat = 1\nhost = 9\naction = \"stop\"\n" * MANY,
    GOOD + "[[radio.links]]\nfrom = 0\nto = 9\nloss = 1\n" * MANY,
    f"{GOOD}[[workload.publish]]\nevent = {{ a = 1 }}\nhosts = [{ENTRIES}]\n",
    GOOD.replace("count = 3", f"names = [{ENTRIES}]") + f"[workload]\nroam = [{ENTRIES.replace('n', 'm')}]\n",
    f"{GOOD}[[workload.publish]]\nevent = {{ {ENTRIES.replace(',', ' = [],')} = [] }}\n",
])  # fmt: skip
def test_of_very_many_problems_only_those_are_put_into_words_that_are_read(tmp_path, text):
    """Each takes a search among all known words: 400,000 unknown keys took minutes."""
    (tmp_path / "x.toml").write_text(text)
    assert len(outcome(tmp_path / "x.toml")) <= 2 * problems.MOST_TOLD + check.MOST_FOUND


def test_what_is_twice_is_found_without_a_search_for_each(tmp_path):
    names = ", ".join(f'"n{k}"' for k in range(90_000))
    (tmp_path / "x.toml").write_text(GOOD.replace("count = 3", f'names = [{names}, "n89999"]'))
    assert outcome(tmp_path / "x.toml") == [f'{tmp_path}/x.toml: hosts.names: found "n89999" twice; expected names that differ']


def test_a_key_of_megabytes_is_not_repeated(tmp_path):
    (tmp_path / "x.toml").write_text(f'{GOOD}"{"a" * 5_000_000}" = 1\n')
    assert outcome(tmp_path / "x.toml")
