"""The command line: what it says to people, and how it ends."""
from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from cli.main import commands
from emulation import capture, records
from tests.cli.command import ENVIRONMENT, ROOT, here, roamcast, start
from tests.own_mounts import own_mounts

PARK = (ROOT / "topologies" / "park-12.toml").read_text()


def test_help_lists_every_command_with_a_line(tmp_path):
    shown = roamcast("--help", cwd=tmp_path)
    assert shown.returncode == 0 and shown.stderr == ""
    listed = re.findall(r"^  (\w+) +\w.+$", shown.stdout, re.MULTILINE)
    assert sorted(listed) == commands() and listed[0] == "run"
    assert max(map(len, shown.stdout.splitlines())) <= 110


def test_an_unknown_command_names_the_nearest(tmp_path):
    shown = here("rum", cwd=tmp_path)
    assert shown.returncode == 2 and shown.stdout == ""
    assert shown.stderr == "roamcast: rum: no such command; did you mean run? `roamcast --help` lists them all\n"


@pytest.mark.parametrize("until", ["nan", "-1", "-inf"])
def test_a_time_that_never_comes_is_refused(tmp_path, until):
    done = here("replay", "x.journal", f"--until={until}", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and re.search(r"--until.*a number\b", done.stderr)


@pytest.mark.parametrize(("words", "now"), [(["measure", "x.toml"], "run SCENARIO --measure"), (["overlay", "rate=30"], "reproduce overlay")])
def test_a_former_command_names_the_present_one(tmp_path, words, now):
    done = here(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"roamcast: {words[0]}: is now `roamcast {now}`\n")


def test_measured_are_the_numbers_of_a_run_and_nothing_is_left(tmp_path):
    (tmp_path / "walk.toml").write_text(PARK.replace("duration = 120", "duration = 40"))
    done = roamcast("run", "walk.toml", "--measure", "--seed", 3, cwd=tmp_path)
    found = json.loads(done.stdout)
    assert done.returncode == 0 and 0 < found["numbers"]["delivered"] <= found["numbers"]["expected"]
    assert [file.name for file in tmp_path.iterdir()] == ["walk.toml"]


def test_the_version_is_the_nodes(tmp_path):
    from node import __version__

    assert roamcast("--version", cwd=tmp_path).stdout == f"roamcast {__version__}\n"


def test_help_imports_nothing_heavy():
    program = ("import sys; from cli.main import main; main(['--help']); "
               "print(sorted(m for m in sys.modules if m.split('.')[0] in "
               "('numpy', 'scipy', 'pydantic', 'pyspark', 'trio', 'pandas', 'scapy', 'matplotlib', 'analysis')))")
    shown = subprocess.run([sys.executable, "-c", program], env=ENVIRONMENT, cwd=ROOT, capture_output=True, text=True,
                           check=True)
    assert shown.stdout.splitlines()[-1] == "[]"


BAD = {
    "wrong type": (PARK.replace("duration = 120", 'duration = "long"'), "run.duration", "a number"),
    "unknown key": (PARK.replace("range = 150", "rang = 150"), "radio.rang", 'did you mean "range"'),
    "impossible pair": (PARK.replace("warm_up = 20", "warm_up = 120"), "run.warm_up", "less than run.duration"),
    "minimum speed of zero": (PARK.replace("speed = [0.5, 2]", "speed = [0.0, 2.0]"), "mobility.speed", "above 0"),
    "missing trace": (re.sub(r"(?s)model = .*?pause[^\n]*", 'trace = "gone.movements"', PARK), "mobility.trace",
                      "gone.movements"),
    "trace too short": (re.sub(r"(?s)model = .*?pause[^\n]*", 'trace = "two.movements"', PARK).replace(
        "count = 12", "count = 2"), "run.duration", "at most 50"),
    "too few hosts in the trace": (re.sub(r"(?s)model = .*?pause[^\n]*", 'trace = "two.movements"', PARK).replace(
        "duration = 120", "duration = 40"), "hosts.count", "at most 2"),
    "no filter": (PARK + '\n[[workload.subscribe]]\nfilter = "value >"\n', "workload.subscribe[0].filter", "column"),
    "not TOML": ("[run\n", "not TOML", "correct that line"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_with_file_key_and_cure_and_starts_nothing(tmp_path, name):
    text, key, cure = BAD[name]
    (tmp_path / "two.movements").write_text("0.0 1.0 1.0 50.0 1.0 2.0\n0.0 5.0 5.0 50.0 5.0 6.0\n")
    (tmp_path / "bad.toml").write_text(text)
    shown = here("run", "bad.toml", cwd=tmp_path)
    assert shown.returncode == 2 and shown.stdout == ""
    assert re.fullmatch(r"roamcast: bad\.toml: [^\n]+\n", shown.stderr), shown.stderr
    assert key in shown.stderr and cure in shown.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bad.toml", "two.movements"]


def test_a_scenario_that_is_not_there(tmp_path):
    shown = here("run", "nowhere.toml", cwd=tmp_path)
    assert shown.returncode == 2 and shown.stderr.startswith("roamcast: nowhere.toml: no such file")
    assert list(tmp_path.iterdir()) == []


def test_check_runs_nothing(tmp_path):
    (tmp_path / "good.toml").write_text(PARK)
    shown = here("check", "good.toml", cwd=tmp_path)
    assert (shown.returncode, shown.stdout) == (0, "good.toml: OK: 12 hosts, 120 s in sim, 288 publications\n")
    assert [file.name for file in tmp_path.iterdir()] == ["good.toml"]


def test_a_run_goes_where_it_says_and_tells_how_far_it_is(tmp_path):
    (tmp_path / "walk.toml").write_text(PARK)
    shown = roamcast("run", "walk.toml", "--seed", 5, "--no-analysis", cwd=tmp_path)
    assert shown.returncode == 0
    [directory] = (tmp_path / "runs").iterdir()
    assert re.fullmatch(r"walk-s5-\d{8}-\d{6}", directory.name)
    assert f"runs/{directory.name}" in shown.stdout
    assert re.search(r"^\d+ of 120 s, [\d,]+ delivered, \d+ s left$", shown.stderr, re.MULTILINE)
    assert "seed = 5" in (directory / "scenario.toml").read_text()
    again = roamcast("run", "walk.toml", "--no-analysis", "--out", directory, cwd=tmp_path)
    assert again.returncode == 2 and "exists already" in again.stderr


def test_a_journaled_run_replays_and_its_captures_are_shown(tmp_path):
    (tmp_path / "walk.toml").write_text(
        PARK.replace("duration = 120", "duration = 40") + '\n[[faults]]\nat = 20\naction = "start"\nhost = 4\n')
    assert roamcast("run", "walk.toml", "--journal", "--no-analysis", "--out", "run", cwd=tmp_path).returncode == 0
    again = roamcast("replay", "run/journals/3.journal", "--check", "run/nodes/3.jsonl", cwd=tmp_path)
    assert again.returncode == 0 and re.fullmatch(r"\d{2,} records, all the same\n", again.stdout)
    none = roamcast("replay", "run/journals/4.journal", "--until", "5", "--check", "run/nodes/4.jsonl", cwd=tmp_path)
    assert none.returncode == 2 and "nothing to compare" in none.stderr and none.stdout == ""
    shown = roamcast("dissect", "run/captures/3.pcap", cwd=tmp_path)
    lines = shown.stdout.splitlines()
    assert shown.returncode == 0 and len(lines) > 100
    assert re.fullmatch(r"00:00:0\d\.\d{6} 10\.0\.0\.\d+ > 10\.255\.255\.255 Roamcast \d+\.1 #1 HELLO", lines[0])
    assert any("DATA(EVENT)" in line for line in lines)


def test_the_dissector_is_written_where_it_is_wanted(tmp_path):
    from emulation.dissect import wireshark_lua

    shown = roamcast("dissect", "--out", "roamcast.lua", cwd=tmp_path)
    assert shown.returncode == 0 and "tshark -X lua_script:roamcast.lua" in shown.stdout
    assert (tmp_path / "roamcast.lua").read_text() == wireshark_lua()
    for arguments, cure in ((("walk.pcap",), "captures/N.pcap"), (("--out", "nowhere/roamcast.lua"), "--out")):
        shown = roamcast("dissect", *arguments, cwd=tmp_path)
        assert shown.returncode == 2 and shown.stderr.count("\n") == 1
        assert "No such file" in shown.stderr and cure in shown.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_what_was_recorded(tmp_path, number):
    (tmp_path / "long.toml").write_text(PARK.replace("duration = 120", "duration = 36000"))
    process = start("run", "long.toml", "--no-analysis", "--out", "run", cwd=tmp_path)
    world = tmp_path / "run" / "world.jsonl"
    deadline = time.monotonic() + 600
    while not (world.exists() and world.stat().st_size > 10_000):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130 and "Interrupted: the run stopped after" in out
    assert "Traceback" not in err
    found = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert found["outcome"] == "interrupted" and 10 < found["ended"] < 36000
    last = [record["t"] for record in records.read(world)][-1]
    assert found["ended"] - 2 < last <= found["ended"]
    for host in range(12):
        text = (tmp_path / "run" / "nodes" / f"{host}.jsonl").read_bytes()
        assert text.endswith(b"\n") and len(list(capture.read(tmp_path / "run" / "captures" / f"{host}.pcap"))) > 5


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MB; only root can have one."""
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("mounting a file system needs root; the file size limit's test covers the same code")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_ends_the_run_and_keeps_what_was_written(tmp_path, small_disk):
    (tmp_path / "walk.toml").write_text(PARK)
    shown = roamcast("run", "walk.toml", "--out", small_disk / "run", cwd=tmp_path)
    assert shown.returncode == 1 and "Traceback" not in shown.stderr
    assert "The disk is full" in shown.stdout
    assert f"free some space, then: roamcast analyse {small_disk / 'run'}" in shown.stdout
    found = json.loads((small_disk / "run" / "manifest.json").read_text())
    assert found["outcome"] == "disk_full" and 0 < found["ended"] < 120
    assert shutil.disk_usage(small_disk).free < 100_000
    times = [record["t"] for record in records.read(small_disk / "run" / "world.jsonl")]
    assert times == sorted(times) and times
    for file in (small_disk / "run" / "captures").iterdir():
        if file.stat().st_size >= 24:
            list(capture.read(file))


def test_the_file_size_limit_ends_the_run_in_the_same_way(tmp_path):
    import resource

    (tmp_path / "walk.toml").write_text(PARK)
    shown = roamcast("run", "walk.toml", "--no-analysis", "--out", "run", cwd=tmp_path,
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)))
    assert shown.returncode == 1 and "The disk is full" in shown.stdout, shown.stderr
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["outcome"] == "disk_full"


@pytest.mark.parametrize("limit", [1_000, 16_384])
def test_no_room_for_the_run_directory_leaves_nothing(tmp_path, limit):
    import resource

    (tmp_path / "walk.toml").write_text(PARK)
    shown = roamcast("run", "walk.toml", "--no-analysis", cwd=tmp_path,
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    if limit == 1_000:
        assert shown.returncode == 2 and "cannot be created: manifest.json: File too large" in shown.stderr
        assert list((tmp_path / "runs").iterdir()) == []
    else:
        assert shown.returncode == 1 and "The disk is full" in shown.stdout, shown.stderr
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize(("name", "folder"), [("../../out", "out"), (".", "run"), ("</script> & co", "script-co"),
                                              ("\U0001f600" * 64, "run"), ("\u6f22" * 64, "\u6f22" * 42)])
def test_a_runs_name_is_never_a_path(name, folder):
    from emulation import rundir

    path = rundir.default_path(name, 1)
    assert path.parts[0] == "runs" and len(path.parts) == 2 and path.name.rsplit("-s1-", 1)[0] == folder


WORDS = [["run"], ["run", "a.toml", "b.toml"], ["run", "a.toml", "--seed", "x"], ["run", "a.toml", "--out"],
         ["run", "walk.toml", "--seed", "-1"], ["run", "walk.toml", "--world", "mars"], ["run", "walk.toml", "--out", ""],
         ["run", "walk.toml", "--master", "spark://here"],
         ["run", "walk.toml", "--out", "walk.toml/x"], ["run", "walk.toml", "--bogus"], ["check"], ["check", "."],
         ["analyse"], ["analyse", "gone"], ["analyse", "walk.toml"], ["analyse", ""],
         ["analyse", "gone", "--out", "means.txt"], ["analyse", "\x1b[31mred", "--out", "gone/means.csv"], ["replay"], ["replay", "."],
         ["replay", "walk.toml"], ["pub"], ["pub", "x:=" + "[" * 5000], ["sub"], ["node"], ["node", "--id", "x"], ["exec"], ["exec", "gone", "0", "ls"],
         ["reproduce", "overlay", "x"], ["reproduce", "overlay", "rate=1", "--batch", "walk.toml", "--out", "out"],
         ["reproduce", "overlay", "--batch", "walk.toml"], ["reproduce", "x"], ["reproduce"], ["measure", "walk.toml"], ["overlay"],
         *(["run", "walk.toml", "--measure", *more] for more in (["--out", "run"], ["--journal"], ["--no-analysis"], ["--world", "netns"],
                                                                ["--batch", "walk.toml"])),
         ["run", "--batch", "walk.toml"], ["run", "--batch", "walk.toml", "--out", "out", "--seed", "3"], ["\x1b[31mred"], ["\u00e9\n"], ["--bogus"], ["../run"], ["main"]]


@pytest.mark.parametrize("words", WORDS, ids=repr)
def test_whatever_the_words_nobody_sees_a_traceback(tmp_path, monkeypatch, capsys, words):
    from cli.main import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "walk.toml").write_text(PARK)
    try:
        code = main(words)
    except SystemExit as end:  # argparse
        code = end.code
    told = capsys.readouterr()
    assert code == 2 and told.out == "" and told.err.strip() and "\x1b" not in told.err
    assert [file.name for file in tmp_path.iterdir()] == ["walk.toml"]


NOBODY_KNOWS = """
for file in /etc/hosts /etc/resolv.conf /etc/nsswitch.conf; do
    [ -e $file ] && mount --bind "$1" $file
done
shift
exec "$@"
"""


@pytest.mark.parametrize("words", [["run", "walk.toml", "--out", "run"], ["analyse", "recorded"]])
def test_a_machine_without_localhost_is_told_before_a_run_begins(tmp_path, words):
    """Names are looked up in a hosts file and by a resolver that say nothing."""
    (tmp_path / "nothing").touch()
    (tmp_path / "walk.toml").write_text(PARK)
    without = own_mounts(NOBODY_KNOWS, tmp_path / "nothing", sys.executable, "-P", "-m", "cli")
    recorded = subprocess.run([*without, "run", "walk.toml", "--no-analysis", "--out", "recorded"], cwd=tmp_path,
                              env=ENVIRONMENT, capture_output=True, text=True)
    assert recorded.returncode == 0, recorded.stderr
    done = subprocess.run([*without, *words], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 2 and not (tmp_path / "run").exists()
    said = done.stderr.splitlines()[-1]
    assert said.startswith("roamcast: this machine cannot resolve localhost (") and "echo '127.0.0.1 localhost' >> /etc/hosts" in said
    assert "Ran" not in done.stdout and "Traceback" not in done.stderr
