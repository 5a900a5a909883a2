"""Record files: exact lines, torn last lines, and a disk that is full."""
from __future__ import annotations

import os
import resource
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation import records

VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
                      | st.text(), lambda inner: st.lists(inner, max_size=3)
                      | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=8)


@given(st.dictionaries(st.text(min_size=1, max_size=8).filter(lambda name: name not in ("t", "node", "kind")), VALUES,
                       max_size=4))
def test_a_line_is_the_json_of_its_record(tmp_path_factory, fields):
    path = tmp_path_factory.mktemp("records") / "7.jsonl"
    writer = records.RecordWriter(path, 7, lambda: 1.23456789)
    writer.record("published", **fields)
    writer.flush()
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") == 1 and text.endswith("\n")
    assert list(records.read(path)) == [{"t": 1.234568, "node": 7, "kind": "published", **fields}]


def test_a_torn_last_line_is_left_out(tmp_path):
    path = tmp_path / "0.jsonl"
    writer = records.RecordWriter(path, 0, lambda: 0.0)
    for number in range(3):
        writer.record("n", number=number)
    writer.flush()
    whole = path.read_bytes()
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        assert [record["number"] for record in records.read(path)] == list(range(whole[:size].count(b"\n")))


def test_nothing_is_written_through_a_link_that_took_the_files_place(tmp_path):
    (tmp_path / "victim").write_text("mine")
    writer = records.RecordWriter(tmp_path / "0.jsonl", 0, lambda: 0.0)
    writer.record("n")
    writer.flush()
    (tmp_path / "0.jsonl").unlink()
    (tmp_path / "0.jsonl").symlink_to("victim")
    writer.record("n")
    with pytest.raises(OSError, match="replaced by a symbolic link"):
        writer.flush()
    with pytest.raises(FileExistsError):
        records.AppendOnly(tmp_path / "0.jsonl")
    assert (tmp_path / "victim").read_text() == "mine"


def test_what_is_no_json_is_refused(tmp_path):
    writer = records.RecordWriter(tmp_path / "0.jsonl", 0, lambda: 0.0)
    with pytest.raises(TypeError, match="cannot hold a bytes"):
        writer.record("n", data=b"x")


def test_files_are_not_held_open(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    writers = [records.RecordWriter(tmp_path / f"{k}.jsonl", k, lambda: 0.0) for k in range(50)]
    for writer in writers:
        writer.record("n")
        writer.flush()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_full_disk_keeps_what_fits_and_says_so_once(tmp_path):
    """The limit is a process's largest file, which ends in the same way as a full disk."""
    program = textwrap.dedent("""
        import resource, sys
        from pathlib import Path
        from emulation.records import DiskFull, RecordWriter
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        writer = RecordWriter(Path(sys.argv[1]), 0, lambda: 0.0)
        for number in range(100):
            writer.record("n", number=number)
        try:
            writer.flush()
        except DiskFull as error:
            print(error)
        writer.record("n", number=100)
        writer.flush()
    """)
    path = tmp_path / "0.jsonl"
    shown = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("0.jsonl: ") and path.stat().st_size == 1000
    numbers = [record["number"] for record in records.read(path)]
    assert numbers == list(range(len(numbers))) and len(numbers) > 20
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1000
