"""Batches of runs: what a bad line, a bad key, a bad parameter or a folder that takes nothing is told, and that nothing is left of it."""
from __future__ import annotations

import json
import subprocess
import sys

import pytest

from emulation.studies import overlay, results
from emulation.studies.batch import batch
from tests.cli.command import ENVIRONMENT, here


@pytest.mark.parametrize("line, said", [
    (b"hello", "line 2: not a JSON object with key and parameters: 'hello"),
    (b"[1, 2]", "line 2: not a JSON object"),
    (b'{"parameters": {}}', "line 2: not a JSON object"),
    (b'{"key": "b", "parameters": 3}', "line 2: not a JSON object"),
    (b"[" * 100_000, "line 2: not a JSON object"),
    (b'{"key": "b", "parameters": {"rate": ' + b"[" * 5000 + b"]" * 5000 + b"}}", "line 2: not a JSON object"),
    (b'{"key": "b", "parameters": {"rate": ' + b"9" * 5000 + b"}}", "line 2: not a JSON object"),
    (b"\xff\xfe\x00", "not UTF-8 text"),
    *((f'{{"key": {key}, "parameters": {{}}}}'.encode(), "line 2: key: found .* give a file name without a folder") for key in (
        '"../out"', '"/etc/passwd"', '"a/b"', '""', '"."', '".."', '"a\\u0000b"', '"a\\nended b"', '"\\ud800"', "[1]", "1", "null",
        '"' + 300 * "k" + '"')),
    (b'{"key": "b", "parameters": {"rate": 1, "rate": 2}}', "line 2: found 'rate' twice"),
    (b'{"key": "b", "key": "c", "parameters": {}}', "line 2: found 'key' twice"),
    (b'{"key": "b", "parameters": {}, "seed": 5}', "line 2: found 'seed' beside key and parameters"),
    (b'{"key": "a", "parameters": {}}', "line 2: key: found 'a' again"),
])
def test_of_a_batch_with_a_bad_line_nothing_is_run(tmp_path, line, said):
    file, out = tmp_path / "batch", tmp_path / "out" / "deep"
    out.mkdir(parents=True)
    file.write_bytes(b'{"key": "a", "parameters": {}}\n' + line + b"\n")
    with file.open(encoding="utf-8") as lines, pytest.raises(overlay.OverlayError, match=said):
        batch(lines, out, "overlay")
    assert not list(out.iterdir()) and sorted(path.name for path in tmp_path.iterdir()) == ["batch", "out"]


def test_a_result_that_cannot_be_written_is_told_and_leaves_nothing(tmp_path):
    (tmp_path / "a.json").mkdir()  # where no file can go
    with pytest.raises(OSError) as told:
        batch(['{"key": "a", "parameters": {"rate": -1}}'], tmp_path, "overlay")
    assert told.value.filename == str(tmp_path / "a.json") and told.value.strerror
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_result_is_not_written_through_a_link(tmp_path):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "a.json").symlink_to("victim")
    with pytest.raises(OSError, match="symbolic link"):
        batch(['{"key": "a", "parameters": {"rate": -1}}'], tmp_path, "overlay")
    with pytest.raises(OSError, match="symbolic link"):
        results.keep(tmp_path / "a.json", {})
    assert (tmp_path / "victim").read_text() == "mine" and len(list(tmp_path.iterdir())) == 2


def test_a_batch_hands_the_notes_on_scenarios_on(tmp_path):
    given = {"run.duration": 20, "run.warm_up": 5, "run.deadline": 2, "hosts.count": 2, "mobility.area": [100, 100]}
    lines = [json.dumps({"key": key, "parameters": given | more}) for key, more in (
        ("quiet", {}), ("a", {"node.traffic_interval": 19}), ("b", {"node.traffic_interval": 19}))]
    (tmp_path / "batch").write_text("\n".join(lines))
    done = here("run", "--batch", "batch", "--out", "out", cwd=tmp_path)
    found = {key: results.read(tmp_path / "out" / f"{key}.json") for key in ("quiet", "a", "b")}
    [note] = [note for note in found["a"]["notes"] if note.startswith("node.traffic_interval: 19 s")]
    assert note in found["b"]["notes"] and note not in found["quiet"].get("notes", ())
    assert done.returncode == 0 and done.stderr.count(f"roamcast: note: {note}\n") == 1


def test_each_run_of_a_batch_says_what_was_wrong_with_it(tmp_path):
    """Keys that shut each other out, and a world that is not measured, among them."""
    whole = '"run.duration": 20, "hosts.count": 3, "mobility.area": [100, 100]'
    bad = [('"hosts": 3, "hosts.count": 2', "hosts.count: 'hosts' is also given as a value"),
           ('"hosts.count.x": 2, ' + whole, "hosts.count: also given as a table"),
           (whole + ', "run.world": "netns"', 'run.world: found "netns"; measure takes "sim"'),
           (whole + ', "run.seed": NaN', "run.seed: found NaN; expected a whole number"),
           (whole.replace("20", "1e18"), "run.duration: found 1e+18")]
    (tmp_path / "batch").write_text("".join(
        f'{{"key": "{at}", "parameters": {{{given}}}}}\n' for at, (given, _) in enumerate(bad)))
    done = here("run", "--batch", "batch", "--out", "out", cwd=tmp_path)
    assert done.returncode == 1 and not done.stderr
    for at, (_, said) in enumerate(bad):
        assert said in results.read(tmp_path / "out" / f"{at}.json")["failed"]


@pytest.mark.parametrize("command", ["reproduce overlay", "run"])
def test_files_and_folders_that_will_not_do_are_one_line(tmp_path, command):
    (tmp_path / "file").write_bytes(b"\xff\xfe")
    for given, out, said in (("gone", "out", "gone: No such file"), (".", "out", ".: Is a directory"),
                             ("file", "out", "file: line 1: not UTF-8 text"), ("-", "file/out", "file/out: Not a directory")):
        done = here(*command.split(), "--batch", given, "--out", out, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith(f"roamcast: {said}"), done.stderr
        assert len(done.stderr.splitlines()) == 1
    closed = subprocess.run(["sh", "-c", f"exec {sys.executable} -m cli {command} --batch - --out out <&-"], cwd=tmp_path,
                            env=ENVIRONMENT, capture_output=True, text=True)
    assert (closed.returncode, closed.stderr) == (0, "")


@pytest.mark.parametrize("given, said", [
    (["rate=1", "rate=2"], "rate: found twice, as '1' and '2'"), (["=1"], "=1: no parameter; write KEY=VALUE"),
    (["rate=1", "--out", "out"], "--out DIR goes with --batch")])
def test_what_one_run_is_given_is_used_or_refused(tmp_path, given, said):
    done = here("reproduce", "overlay", *given, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith(f"roamcast: {said}"), done.stderr


def test_a_storm_is_told_in_a_line(tmp_path, monkeypatch, capsys):
    from cli.main import main

    monkeypatch.setattr("emulation.studies.overlay.network.MOST", 200)
    assert main(["reproduce", "overlay", "dispatchers=20", "available=20"]) == 2
    assert "more than 200 actions" in (said := capsys.readouterr().err) and "would do" in said


def test_without_reconfigurations_nothing_is_told_by_them(tmp_path):
    small = ("dispatchers=12", "available=12", "patterns=2", "publish=1")
    calm = here("reproduce", "overlay", *small, "rate=0", cwd=tmp_path).stdout
    assert "in the whole run" in calm and "reconfiguration " not in calm and "involved" not in calm
    assert "per reconfiguration" in here("reproduce", "overlay", *small, cwd=tmp_path).stdout
