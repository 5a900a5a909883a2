"""Whole runs whose records were damaged at random, or written by somebody hostile: still a report, and a safe one."""
from __future__ import annotations

import json
import random
import re

import pytest

from analysis import AnalysisError, analyse
from cli.errors import visible
from tests.analysis.rundirs import network

EVIL = '</script><script>document.title="had"</script><img src=x onerror="alert(1)">\u2028{{7*7}}\x1b[31m'
WRONG = [None, [], {}, "x", -1, 10**6, 1e300, -1e300, True, 2**62, 2**70, float("nan"), float("inf")]


def every_value(value: object, change) -> object:
    if isinstance(value, dict):
        return {key: every_value(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [every_value(inner, change) for inner in value]
    return change(value)


def battered(path, chance: random.Random):
    """A tenth of the records: a value or two of another type, fields gone, cut off, doubled, or bytes at random."""
    for file in [*(path / "nodes").glob("*.jsonl"), path / "world.jsonl"]:
        lines = []
        for line in file.read_bytes().splitlines():
            if chance.random() < 0.9:
                lines.append(line)
                continue
            record = json.loads(line)
            few = {key: value for key, value in record.items() if chance.random() < 0.9}
            wrong = every_value(record, lambda value: chance.choice(WRONG) if chance.random() < 0.2 else value)
            odd = {**record, "kind": EVIL}
            lines += chance.choice([[line, line], [line[:chance.randrange(len(line))]], [json.dumps(few).encode()],
                                    [json.dumps(wrong).encode()], [json.dumps(odd).encode()],
                                    [chance.randbytes(30).replace(b"\n", b"")]])
        file.write_bytes(b"\n".join(lines)[:-5])
    return path


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_records_are_left_out_and_the_rest_is_analysed(tmp_path, spark, seed):
    path = battered(network(8, 60.0, seed).write(tmp_path / "run"), random.Random(seed))
    summary = analyse(path)
    assert (path / "report.html").is_file() and 0 <= summary.numbers[0]["ratio"] <= 1
    told = "; ".join(summary.notes)
    assert "are not records" in told and "unknown kinds" in told
    assert "\x1b" not in visible(summary.table())


def test_hostile_texts_stay_texts_in_the_report(tmp_path, spark):
    log = network(6, 60.0, 3)
    log.scenario["run"]["name"] = EVIL.replace("\x1b", "")
    log.scenario["hosts"]["names"] = [f"{EVIL}{host}".replace("\x1b", "") for host in range(6)]
    log.manifest |= {"outcome": "failed", "reason": EVIL, "roamcast": EVIL, "started": EVIL,
                     "fidelity": {EVIL: EVIL, "valid": False, "invalid_because": [EVIL]}}
    named = {"filter", "s", "reason", "type", "what", "version", "outcome", "cause"}

    def poison(value):
        if isinstance(value, dict):
            return {key: inner + EVIL if key in named and isinstance(inner, str) else poison(inner)
                    for key, inner in value.items()}
        return [poison(inner) for inner in value] if isinstance(value, list) else value

    log.lines = {node: [(t, poison(record)) for t, record in lines] for node, lines in log.lines.items()}
    path = log.write(tmp_path / "run")
    analyse(path)
    page = (path / "report.html").read_text(encoding="utf-8")
    assert "&lt;/script&gt;" in page and "onerror" in page
    assert "<script>document" not in page and "<img src=x" not in page
    [data] = re.findall(r'<script type="application/json" id="run-data">(.*?)</script>', page, re.DOTALL)
    assert EVIL.replace("\x1b", "") in json.loads(data)["names"][0]


def test_a_run_directory_may_have_any_name(tmp_path, spark):
    path = tmp_path / "glob[1]*{a,b}? %20c#d\\f\u00e9\u6f22" / "run"
    summary = analyse(network(3, 15.0, 4, deadline=5.0).write(path))
    assert (path / "report.html").is_file() and "are no records" not in "".join(summary.notes)


@pytest.mark.parametrize(("name", "what"), [("nodes/2.jsonl", "folder"), ("nodes/2.jsonl", "loop"), ("tables", "file"),
                                            ("report.html", "folder")])
def test_something_else_in_place_of_a_file_is_one_line(tmp_path, spark, name, what):
    path = network(3, 15.0, 4, deadline=5.0).write(tmp_path / "run")
    place = path / name
    place.unlink(missing_ok=True)
    if what == "folder":
        place.mkdir()
    elif what == "loop":
        place.symlink_to(place.name)
    else:
        place.write_text("")
    with pytest.raises(AnalysisError) as error:
        analyse(path)
    assert "\n" not in str(error.value) and str(place) in str(error.value)
