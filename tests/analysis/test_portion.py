"""Lines of logs: what is a record, whatever stands around it, and wherever a file is cut into pieces."""
from __future__ import annotations

import math
import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from analysis import events, ingest, portion, records
from analysis.portion import Piece
from tests.analysis.rundirs import network

GOOD = b'{"t":1.5,"node":3,"kind":"neighbor_up","neighbor":1,"epoch":2}'
NO_RECORDS = [
    b"null", b"5", b"[]", b"{}", b"{", b"}", b'"text"', b"nonsense", b"\x00" * 40, GOOD[:-1], GOOD + GOOD, GOOD + b"null" + GOOD, GOOD + b" null {}",
    GOOD + b"]", b"[" + GOOD + b"]", b"\xef\xbb\xbf" + GOOD, b'{"a":' * 3000 + b"1" + b"}" * 3000, b'{"a":' + b"[" * 50_000 + b"}",
    *(GOOD.replace(*change) for change in [
        (b"1.5", b'"1.5"'), (b"1.5", b"-1"), (b"1.5", b"NaN"), (b"1.5", b"1e300"), (b"1.5", b"1e999"), (b"1.5", b"null"),
        (b"1.5", b'1.5,"t":2.5'), (b'"node":3', b'"node":3.0'), (b'"node":3', b'"node":true'), (b'"node":3', b'"node":1' + b"0" * 30),
        (b'"neighbor_up"', b"7"), (b'"neighbor_up"', b'"\\ud800"'), (b'"neighbor_up"', b"null"), (b'"epoch":2', b'"epoch":"2"'),
        (b'"epoch":2', b'"epoch":null'), (b',"epoch":2', b""), (b'"neighbor":1', b'"neighbor":-1'),
        (b'"neighbor":1', b'"neighbor":100001'), (b'"epoch":2', b'"epoch":[2]')]),
    *(sign.encode() + GOOD for sign in ("\x0b", "\x0c", "\x85", "\u2028")), *(GOOD.replace(b",", f",{sign}".encode(), 1) for sign in ("\x0b", "\x0c", "\x85", "\u2028")),
    b'{"t":1,"node":3,"kind":"forwarded","event":"1.1.1","from":null,"to":["1-2.a",null]}',
    b'{"t":1,"node":3,"kind":"forwarded","event":"1.1","from":null,"to":[]}',
    b'{"t":1,"node":3,"kind":"subscribed","client":"a","filter":"","hash":"","constraints":[{"name":"a","op":"=","values":7}]}']


def parsed(lines: list[bytes]) -> records.Parsed:
    count = len(lines)
    return records.parse(records.Lines(lines, np.full(count, 3), np.zeros(count, dtype=np.int64), np.arange(count)))


@pytest.mark.parametrize("together", [1, 2, 7])
def test_a_line_that_is_no_record_spoils_no_other(together):
    """Among good lines, in groups of every size: the reader refuses many lines for one."""
    lines, wanted = [], []
    for start in range(0, len(NO_RECORDS), together):
        bad = NO_RECORDS[start:start + together]
        lines += [GOOD, *bad, GOOD]
        wanted += ["neighbor_up", *[None] * len(bad), "neighbor_up"]
    found = parsed(lines)
    assert dict(zip(enumerate(lines), found.kind, strict=True)) == dict(zip(enumerate(lines), wanted, strict=True))
    rows = found.tables["neighbor_up"].to_pylist()
    assert [row["line"]["row"] for row in rows] == [at for at, kind in enumerate(wanted) if kind]
    assert {(row["t"], row["node"], row["neighbor"], row["epoch"]) for row in rows} == {(1.5, 3, 1, 2)}


def test_what_json_allows_is_a_record():
    lines = [GOOD.replace(b",", b" , "), b'{"epoch":2,"kind":"neighbor_up","x":[{"}":"} {"}],"neighbor":1,"node":3,"t":15e-1}',
             GOOD.replace(b"}", b',"more":{"t":"x"}}'), GOOD.replace(b"}", b',"more":"} x"}')]
    assert parsed(lines).tables["neighbor_up"].drop(["line"]).to_pylist() == [
        {"t": 1.5, "node": 3, "neighbor": 1, "epoch": 2}] * len(lines)


def test_wherever_a_file_is_cut_its_lines_are_the_same(tmp_path, monkeypatch):
    """With empty lines, line ends of other systems, a torn last line, bytes that are no text, and blocks of any size."""
    chance = random.Random(7)
    text = b""
    for number in range(60):
        text += chance.choice([b"", b"\n", b"  ", b"\r\n"]) + GOOD.replace(b"1.5", b"%d" % number) + chance.choice([b"\n", b"\r\n", b" \n"])
        text += chance.choice([b"", b"", b'{"t":1,"node":3,"kind":"\xff"}\n', b"x" * 50 + b"\n"])
    text += GOOD[:30]
    file = tmp_path / "3.jsonl"
    file.write_bytes(text)

    def read(cuts: list[int]) -> tuple:
        out = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
        out.mkdir()
        ends = [0, *cuts, len(text)]
        told = [portion.gather(part, [Piece(str(file), 3, *piece)], str(out), math.inf) for part, piece in enumerate(zip(ends, ends[1:], strict=False))]
        found = pa.concat_tables([one["found"] for one in told if "found" in one]).to_pandas()
        rows = pd.read_parquet(out / "neighbor_up.parquet")
        where = [(line["block"], line["row"]) for line in rows["line"]]
        return (found.groupby(["kind", "astray"], dropna=False)["n"].sum().to_dict(),
                rows.assign(line=where).sort_values("line")["t"].tolist())

    wanted = read([])
    assert wanted[1] == list(range(60))
    for _ in range(25):
        monkeypatch.setattr(portion, "BLOCK", chance.choice([1, 50, 1000, 1 << 20]))
        cuts = sorted({chance.randint(1, len(text) - 1) for _ in range(chance.randint(1, 6))})
        found = read(cuts)
        assert str(found[0]) == str(wanted[0]) and found[1] == wanted[1], cuts


def test_a_line_that_does_not_end_is_no_record_and_takes_no_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(portion, "BLOCK", 64)
    monkeypatch.setattr(portion, "LONGEST", 128)
    file = tmp_path / "3.jsonl"
    file.write_bytes(GOOD + b"\n" + b'{"a":"' + b"x" * 10_000 + b'"}\n' + GOOD + b"\n" + b"y" * 10_000)
    chunks = list(portion._chunks(Piece(str(file), 3, 0, file.stat().st_size)))
    assert max(map(len, chunks)) <= 64 + 128
    told = portion.gather(0, [Piece(str(file), 3, 0, file.stat().st_size)], str(tmp_path), math.inf)["found"].to_pandas()
    assert told[told["kind"].eq("neighbor_up")]["n"].sum() == 2 and told[told["kind"].isna()]["n"].sum() == 2


def test_many_tasks_find_what_one_finds(study, tmp_path, monkeypatch):
    log = network(6, 40.0, 11, radius=200.0, side=350.0, kinds=3, loss=0.1, crash=True, deadline=5.0)
    one = study(log.write(tmp_path / "one"))
    monkeypatch.setattr(ingest, "LEAST", 5_000)
    monkeypatch.setattr(ingest, "MOST", 5_000)
    monkeypatch.setattr(events, "TOGETHER", 50)
    many = study(log.write(tmp_path / "many"))
    assert len(list((many.run.tables / "outcomes.parquet").iterdir())) > 5 < len(list((many.run.tables / "traffic.parquet").iterdir()))
    assert many.numbers == pytest.approx(one.numbers, nan_ok=True) and many.notes == one.notes
    pairs = [pd.read_parquet(found.run.tables / "outcomes.parquet").sort_values(["event", "node", "client"], ignore_index=True)
             for found in (one, many)]
    pd.testing.assert_frame_equal(*pairs)


def _logs(tmp_path, times):
    """A file of reports on traffic at these times, and the ends of its lines."""
    line = ('{{"t":{:.3f},"node":3,"kind":"traffic", "sent":[],"received":[],"dropped":[],'
            '"datagrams_sent":0,"datagrams_received":0}}\n')
    (tmp_path / "3.jsonl").write_text("".join(line.format(t) for t in times))
    return np.cumsum([len(line.format(t)) for t in times]).tolist()


@pytest.mark.parametrize(("times", "back", "holes"), [
    ([1, 2, 3, 50, 51, 52], {}, {3: (1, 47.0)}),
    ([1, 2, 30, 4, 5, 6], {"3.jsonl": 1}, {3: (1, 28.0)}),
    ([1, 20, 3, 40, 5, 60], {"3.jsonl": 2}, {3: (3, 55.0)}),
    ([1, 2, 3, 4, 5, 6], {}, {}),
])
def test_a_step_back_and_a_pause_are_found_wherever_the_file_is_cut(tmp_path, times, back, holes):
    ends = _logs(tmp_path, times)
    for cuts in ([], [ends[2]], ends[:-1], [ends[1], ends[3]], [ends[2] - 5], [7, 9, ends[2] + 1]):
        out = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
        out.mkdir()
        edges = [0, *cuts, ends[-1]]
        handed = [portion.gather(part, [Piece(str(tmp_path / "3.jsonl"), 3, *piece)], str(out), 10.0)
                  for part, piece in enumerate(zip(edges, edges[1:], strict=False))]
        found = ingest._at_seams(ingest._put_together(handed, 0), handed, 10.0)
        assert (found.back, found.holes) == (back, holes), cuts


@pytest.mark.parametrize("sign", ["\x0b", "\x0c", "\x85", "\u2028"])
def test_what_ends_a_line_for_some_programs_only_is_no_blank(tmp_path, sign):
    (tmp_path / "3.jsonl").write_bytes(sign.encode() + GOOD + b"\n" + GOOD + sign.encode() + GOOD + b"\n" + GOOD + b"\n")
    told = portion.gather(0, [Piece(str(tmp_path / "3.jsonl"), 3, 0, 10_000)], str(tmp_path), math.inf)["found"].to_pandas()
    assert told[told["kind"].isna()]["n"].sum() == 2 and told[told["kind"].eq("neighbor_up")]["n"].sum() == 1
