"""`roamcast runs`: lists, shows and sums up what is a run directory, and removes nothing else."""
from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Four runs, 1 to 4 days old, the third not valid and the fourth interrupted; and what is none."""
    monkeypatch.chdir(tmp_path)
    for days in (1, 2, 3, 4):
        made(tmp_path / "runs" / f"r{days}", days, "interrupted" if days == 4 else "complete", None if days != 3 else False)
    (tmp_path / "runs" / "mine").mkdir()
    (tmp_path / "runs" / "mine" / "thesis.tex").write_text("x")
    (tmp_path / "runs" / "other").mkdir()
    (tmp_path / "runs" / "other" / "manifest.json").write_text('{"name": "a web app"}')
    made(tmp_path / "elsewhere", 9, "complete")
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "precious").write_text("y")
    (tmp_path / "runs" / "r4" / "captures" / "out").symlink_to(tmp_path)
    return tmp_path / "runs"


def made(path, days, outcome, valid=None):
    (path / "captures").mkdir(parents=True)
    (path / "nodes").mkdir()
    (path / "captures" / "0.pcap").write_bytes(bytes(300_000))
    (path / "nodes" / "0.jsonl").write_bytes(bytes(100_000))
    started = (datetime.now(UTC) - timedelta(days=days, minutes=1)).isoformat(timespec="seconds")
    (path / "manifest.json").write_text(json.dumps({
        "roamcast": "0.1.0", "commit": None, "world": "sim", "outcome": outcome, "reason": None, "ended": 9.0, "started": started,
        "fidelity": {} if valid is None else {"valid": valid, "invalid_because": ["late"]}, "notes": ["a note"]}))


def roamcast(*words, capsys):
    code = main.main(["runs", *words])
    return code, *capsys.readouterr()


def there(folder):
    return sorted(path.name for path in folder.iterdir())


def test_runs_are_listed_oldest_first_and_nothing_else(folder, capsys):
    code, out, _ = roamcast(capsys=capsys)
    assert code == 0 and [line.split("/")[-1] for line in out.splitlines()] == ["r4", "r3", "r2", "r1"]
    assert [line.split()[2] for line in out.splitlines()] == ["interrupted", "invalid", "complete", "complete"]
    assert "runs/r2" in roamcast("list", "--older", "1.5", capsys=capsys)[1]
    assert "runs/r1" not in roamcast("list", "--older", "1.5", capsys=capsys)[1]
    told = json.loads(roamcast("--json", "--invalid", capsys=capsys)[1])
    assert [(row["path"], row["state"]) for row in told] == [("runs/r4", "interrupted"), ("runs/r3", "invalid")]


def test_one_is_shown_and_sizes_are_summed(folder, capsys):
    code, out, _ = roamcast("show", "runs/r3", capsys=capsys)
    assert code == 0 and "state     invalid" in out and "note      late" in out and "note      a note" in out and "roamcast analyse runs/r3" in out
    out = roamcast("size", capsys=capsys)[1]
    assert out.splitlines()[0].split() == ["captures", "1.2", "MB", "75%"] and out.splitlines()[-1].endswith("4 runs")


@pytest.mark.parametrize(("words", "left"), [
    (("--older", "2.5"), {"r1", "r2"}), (("--invalid",), {"r1", "r2"}), (("--keep", "3"), {"r1", "r2", "r3"}), (("runs/r2",), {"r1", "r3", "r4"}),
    (("--invalid", "--keep", "1"), {"r1", "r2", "r3"}),
])
def test_those_of_the_rules_are_removed_and_nothing_else(folder, words, left, capsys):
    code, out, _ = roamcast("remove", *words, "--yes", capsys=capsys)
    assert code == 0 and "removed " in out
    assert set(there(folder)) == left | {"mine", "other", "link"}
    assert (folder / "link" / "manifest.json").exists() and (folder.parent / "precious").read_text() == "y" and (folder / "mine" / "thesis.tex").exists()


def test_captures_alone_are_removed(folder, capsys):
    assert roamcast("remove", "--keep", "0", "--captures", "--yes", capsys=capsys)[0] == 0
    assert not (folder / "r1" / "captures").exists() and (folder / "r1" / "nodes" / "0.jsonl").exists() and (folder.parent / "precious").exists()


@pytest.mark.parametrize(("words", "code", "told"), [
    (("remove",), 2, "found nothing that says which runs to remove"), (("remove", "--keep", "0"), 1, "nothing was removed; answer y, or give --yes"),
    (("remove", "runs/link", "--yes"), 2, "runs/link: a symbolic link"), (("remove", "runs/mine", "--yes"), 2, "runs/mine: not a run directory"),
    (("remove", "runs/other", "--yes"), 2, "runs/other: not a run directory"), (("show",), 2, "found no RUN to show"),
    (("list", "--yes"), 2, "--yes: found together with list"), (("--folder", "nowhere"), 2, "nowhere: no such file or directory"), (("remove", "--json"), 2, "--json"),
])
def test_what_is_not_clear_removes_nothing(folder, words, code, told, capsys):
    before = there(folder)
    found, _, err = roamcast(*words, capsys=capsys)
    assert found == code and told in err and there(folder) == before


def test_a_run_that_goes_on_is_kept(folder, capsys):
    made(folder / "r0", 0, "running")
    _, _, err = roamcast("remove", "--keep", "0", "--yes", capsys=capsys)
    assert "runs/r0: goes on, or was killed; not removed" in err and "r0" in there(folder) and "r1" not in there(folder)


@pytest.mark.parametrize(("word", "meant"), [("list", "runs"), ("ls", "runs"), ("rm", "runs remove"), ("publish", "pub"), ("analyze", "analyse"), ("rum", "run")])
def test_a_command_is_suggested_by_what_is_meant(word, meant, capsys):
    assert main.main([word]) == 2
    assert f"did you mean {meant}? " in capsys.readouterr().err


def test_every_word_that_is_meant_leads_to_a_command(capsys):
    known = main.commands()
    assert all(name.split()[0] in known and word not in known for word, name in main.MEANT.items())
    with pytest.raises(SystemExit) as ended:
        main.main(["help", "runs"])
    assert ended.value.code == 0 and capsys.readouterr().out.startswith("usage: roamcast runs")
    assert main.main(["help", "frobnicate"]) == 2
