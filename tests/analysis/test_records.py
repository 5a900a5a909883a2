"""Logs as they are found: torn, with nonsense in them, of kinds unknown, or not there at all."""
from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pytest

from analysis import AnalysisError, analyse, records
from analysis.ingest import ingest
from node import schema
from node.schema import parse_record_type
from tests.analysis.rundirs import Log


def test_types_are_read_from_their_notation():
    found = records.arrow_type(parse_record_type("list<{reason: text, n: int?, at: list<float>}>"))
    assert found == pa.list_(pa.struct([("reason", pa.string()), ("n", pa.int64()), ("at", pa.list_(pa.float64()))]))
    assert [f.name for f in records.arrow_type(parse_record_type("value"))] == ["n", "s", "b", "x"]


def test_every_kind_is_a_table_and_the_two_meanings_of_from_stay_apart():
    known = records.schemas()
    assert known.keys() == schema.records().keys()
    assert known["radio_up"].field("from").type == pa.int64()
    assert known["forwarded"].field("from").type == pa.string()


@pytest.fixture(scope="module")
def battered(tmp_path_factory):
    log = Log(3, 50.0, deadline=5.0)
    log.up(0, 1, 2)
    log.contact(0, 1, 0.0)
    link = log.link(0, 1, 0.5)
    for host in (0, 1):
        log.subscribe(host, 1.0, "app", [], "00")  # the empty filter: everything
    log.publish(0, 10.0, "0.1.1", {})
    log.add(0, 10.0, "forwarded", event="0.1.1", to=[link], **{"from": None})
    log.deliver(1, 10.5, "0.1.1", 1, 10.0)
    log.deliver(0, 10.0, "0.1.1", 0, 10.0)
    path = log.write(tmp_path_factory.mktemp("run") / "run")
    (path / "manifest.json").write_text(json.dumps({"outcome": "interrupted", "ended": 30.0, "reason": None}))
    (path / "nodes" / "2.jsonl").unlink()
    with open(path / "nodes" / "1.jsonl", "a") as file:
        file.write('\n{"t":11.0,"node":1,"kind":"dreamt","of":3}\nnonsense\n{"t":"x","node":1,"kind":"delivered"}\n')
        file.write('{"t":12.0,"node":1,"kind":"delivered","client":"app","eve')
    return path, analyse(path)


def test_what_can_be_read_is_read(battered):
    path, summary = battered
    assert (summary["expected"], summary["delivered"], summary["ratio"]) == (1, 1, 1.0)
    assert summary.correct
    rows = pd.read_parquet(path / "tables" / "delivered.parquet")
    assert sorted(rows["t"]) == [10.0, 10.5]
    assert list(rows.columns) == ["t", "node", "line", "client", "event", "hops", "published", "recovered"]


def test_what_cannot_is_told(battered):
    notes = " | ".join(battered[1].notes)
    assert "3 lines of the logs are not records, 1 of them a torn last line" in notes
    assert "dreamt (1)" in notes
    assert "no records of 1 of 3 hosts (h2)" in notes
    assert "ended after 30 s of 50 s" in notes


def test_fields_that_are_not_those_of_their_kind_are_counted(spark, tmp_path):
    log = Log(2, 20.0)
    log.up(0, 1)
    lines = ['{"t":1.0,"node":0,"kind":"neighbor_up","neighbor":1,"epoch":1,"rssi":-70}',
             '{"t":2.0,"node":0,"kind":"neighbor_up","neighbor":1,"epoch":1,"rssi":-70}',
             '{"t":3.0,"node":0,"kind":"neighbor_up","neighbor":1,"neighbor":0,"epoch":1}',
             '{"t":4.0,"node":0,"kind":"forwarded","event":"0.1.1","origin":null,"to":[]}',
             '{"t":4.5,"node":0,"kind":"tree_state","leader":0,"depth":0,"seeking":false}',
             '{"t":4.6,"node":0,"kind":"tree_state", "leader":0,"depth":0,"parent" : null,"seeking":false}',
             '{"t":4.7,"node":0,"kind":"published","client":"a","event":"0.1.1","bytes":0,'
             '"attributes":[{"name":"a","value":{"n":5,"unit":"m"}}]}',
             '{"t":5.0,"node":0,"kind":"dreamt","of":3}',
             '{"t":6.0,"node":0,"kind":"neighbor_down","neighbor":1,"why":"silent"}{"t":6.5,"node":0,"kind":"neighbor_up"}']
    lines += [json.dumps({"t": 7.0, "node": 1, "kind": "node_stopped", "epoch": 1, f"x{k}": k}) for k in range(100)]
    path = log.write(tmp_path / "run")
    for node in (0, 1):
        with open(path / "nodes" / f"{node}.jsonl", "a") as file:
            file.writelines(line + "\n" for line in lines if json.loads(line.split("}{")[0].rstrip("}") + "}")["node"] == node)
    found = ingest(spark, [path / "nodes" / f"{node}.jsonl" for node in (0, 1)], tmp_path / "run")
    assert found.odd["neighbor_up has rssi"] == 2
    assert found.odd["tree_state lacks parent"] == 1 and found.odd["published has attributes[].value.unit"] == 1
    assert found.odd["forwarded has origin"] == 1 and found.unknown == {"dreamt": 1}
    assert found.odd["node_stopped has x0"] == 1 and found.odd["node_stopped otherwise"] == 100 - records.MOST_ODD
    assert sum(found.odd.values()) == 105
    assert found.malformed == {"0.jsonl": 2}  # a field that stands twice, two objects in one line


@pytest.mark.parametrize("line", [
    pytest.param(line, id=line[40:]) for line in (
        '{"t":6.0,"node":0,"kind":"node_stopped","epoch":1}{"t":6.5,"node":0,"kind":"node_stopped","epoch":1}',
        '{"t":6.0,"node":0,"kind":"node_stopped","epoch":1} {"t":6.5,"node":0,"kind":"node_stopped","epoch":1}',
        '{"t":6.0,"node":0,"kind":"node_stopped","epoch":1} rest', '{"t":6.0,"node":0,"kind":"node_stopped","epoch":1},',
        '[{"t":6.0,"node":0,"kind":"node_stopped","epoch":1}]', '{"t":6.0,"node":0,"kind":"node_stopped","epoch":-1}',
        '{"t":6.0,"node":0,"kind":"tree_state","leader":0,"depth":1,"parent":"x","seeking":false}',
        '{"t":6.0,"node":0,"kind":"tree_state","leader":0,"depth":1,"parent":1.5,"seeking":false}',
        '{"t":6.0,"node":0,"kind":"delivered","client":"a","event":"0.1.1","hops":-3,"published":1.0,"recovered":false}',
        '{"t":6.0,"node":0,"kind":"delivered","client":"a","event":"0.1.1","hops":256,"published":1.0,"recovered":false}',
        '{"t":6.0,"node":0,"kind":"delivered","client":"a","event":"0.1.1","hops":1,"published":NaN,"recovered":false}',
        '{"t":6.0,"node":0,"kind":"published","client":"a","event":"0.1.2","bytes":0,"attributes":[{"name":"a","value":{"n":"5"}}]}',
        '{"t":6.0,"node":0,"kind":"published","client":"a","event":"0.1.2","bytes":0,"attributes":[{"name":"a","value":{}}]}',
        '{"t":6.0,"node":0,"kind":"published","client":"a","event":"0.1.2","bytes":0,"attributes":[{"name":"a","value":{"s":5}}]}',
        '{"t":6.0,"node":0,"kind":"published","client":"a","event":"0.1.2","bytes":0,"attributes":[{"name":"a","value":{"x":"a"}}]}',
        '{"t":6.0,"node":0,"kind":"published","client":"a","event":"0.1.2","bytes":0,"attributes":[{"name":"a","value":{"x":"AB"}}]}',
        '{"t":6.0,"node":0,"kind":"published","client":"a","event":"0.1.2","bytes":0,"attributes":[{"name":"a","value":{"x":"a b0"}}]}',
        '{"t":6.0,"node":0,"kind":"published","client":"a","event":"0.1.2","bytes":0,"attributes":[{"name":"a","value":{"n":1e999}}]}',
        '{"t":6.0,"node":0,"kind":"published","client":"a","event":"0.1.2","bytes":0,"attributes":[{"name":"a","value":{"n":5,"s":"x"}}]}',
        '{"t":6.0,"node":0,"kind":"published","client":"a","event":"0.1.2","bytes":9007199254740994,"attributes":[]}',
        '{"t":6.0,"node":0,"kind":"published","client":"a","client":"b","event":"0.1.2","bytes":0,"attributes":[]}',
        '{"t":6.0,"node":0,"kind":"node_stopped","epoch":0}',
        '{"t":6.0,"node":0,"kind":"node_stopped","epoch":4294967296}',
        '{"t":6.0,"node":0,"kind":"delivered","client":"a","event":"0.1.1","hops":1,"published":1e300,"recovered":false}',
        '{"t":6.0,"node":0,"kind":"duplicate","event":"00.1.1","link":null}',
        '{"t":6.0,"node":0,"kind":"duplicate","event":"0.0.1","link":null}',
        '{"t":6.0,"node":0,"kind":"duplicate","event":"0.1.01","link":null}',
        '{"t":6.0,"node":0,"kind":"link_abandoned","rid":"0-01.1"}',
        '{"t":6.0,"node":0,"kind":"repair_ended","rid":null,"cause":"merge","outcome":"joined","attempts":1,"seconds":-4.0}')])
def test_a_line_that_is_not_one_whole_record_is_none(spark, tmp_path, line):
    (tmp_path / "0.jsonl").write_text('{"t":1.0,"node":0,"kind":"subscribed","client":"a","filter":"a = \'} {\'","hash":"0",'
                                      '"constraints":[{"name":"a","op":"=","values":[{"s":"} {"}]}]}\n' + line + "\n")
    found = ingest(spark, [tmp_path / "0.jsonl"], tmp_path)
    assert found.malformed == {"0.jsonl": 1} and found.counts == {"subscribed": 1}


def test_summary_and_report_are_written(battered):
    path, summary = battered
    saved = json.loads((path / "summary.json").read_text())
    assert saved["numbers"]["expected"] == 1 and saved["window"] == [0.0, 25.0]
    report = (path / "report.html").read_text()
    assert "interrupted" in report and "torn last line" in report
    assert "delivery ratio" in summary.table() and "100.0 %" in summary.table()


def test_a_run_without_a_record(spark, tmp_path):
    path = Log(2, 20.0).write(tmp_path / "run")
    summary = analyse(path)
    assert summary["expected"] == 0
    assert "nothing was expected" in summary.table()
    assert (path / "report.html").is_file()


def test_a_run_that_was_killed_ends_with_its_last_record(spark, tmp_path):
    log = Log(2, 90.0, deadline=5.0)
    log.manifest = {"outcome": "running", "ended": 0.0}
    log.up(0, 1)
    log.add(0, 40.0, "neighbor_up", neighbor=1, epoch=1)
    for log_file in ("world.jsonl",):
        path = log.write(tmp_path / "run")
        (path / log_file).unlink()
    summary = analyse(path)
    assert "ended after 40 s of 90 s" in summary.table() and "no physical bound" in summary.table()
    assert "killed" in (path / "report.html").read_text()


@pytest.mark.parametrize("make, said", [
    (lambda p: None, "no such folder"),
    (lambda p: p.mkdir(), "not a run directory"),
    (lambda p: (p.mkdir(), (p / "scenario.toml").write_text("[run\n")), "cannot be read"),
    (lambda p: (p.mkdir(), (p / "scenario.toml").write_text("[run]\nduration = 'long'\n")), "run.duration"),
])
def test_what_is_no_run_is_one_line(tmp_path, make, said):
    path = tmp_path / "elsewhere"
    make(path)
    with pytest.raises(AnalysisError) as raised:
        analyse(path)
    assert said in str(raised.value) and "\n" not in str(raised.value)
