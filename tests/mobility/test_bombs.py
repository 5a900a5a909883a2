"""Small files that unpack to gigabytes are refused with a sentence, in bounded memory; so are other packings."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import mobility
from mobility import TraceError, textfile

ROOT = Path(__file__).resolve().parents[2]
MEGABYTE = 1 << 20
MOST_MEMORY = 300 << 20  # of a `check`, which takes some 100 MB without any trace
_CHILD = """
import re, sys
sys.path.insert(0, sys.argv[1])
import topologies
try:
    topologies.load(sys.argv[2])
except topologies.ScenarioError as error:
    print(error, file=sys.stderr)
# The peak of this program alone: ru_maxrss would count what the test's own process held when it started us.
print(re.search("VmHWM:(.*) kB", open("/proc/self/status").read())[1])
"""


def _bomb(unit: bytes) -> bytes:
    """A megabyte of gzip, which unpacks to a gigabyte of the unit: one member, many times."""
    member = gzip.compress(unit * (MEGABYTE // len(unit)))
    return member * (MEGABYTE // len(member))


@pytest.mark.parametrize(("name", "unit", "problem"), [
    ("one line.movements", b"0 ", "a line of more than 16 MiB"),
    ("many hosts.movements", b"0 0 0\n", "more than 100000 nodes"),
    ("long lines.movements", b"00 " * 300_000 + b"\n", "unpacks to more than 20 times its size"),
    ("many legs.tcl", b'$ns_ at 1 "$node_(0) setdest 1 2 3"\n' + b" " * 200 + b"\n", "unpacks to more than 20 times its size"),
    ("comments.tcl", b"#" * 1000 + b"\n", "unpacks to more than 20 times its size"),
    ("goes on.tcl", b"#" * 5000 + b"\\\n", "more than 1 MiB in lines continued"),
])
def test_a_bomb_takes_little_memory(tmp_path, name, unit, problem):
    (tmp_path / name).write_bytes(_bomb(unit))
    (tmp_path / "x.toml").write_text(f'[run]\nduration = 60\n[mobility]\ntrace = "{name}"\n')
    child = subprocess.run([sys.executable, "-P", "-c", _CHILD, str(ROOT), str(tmp_path / "x.toml")],
                           capture_output=True, text=True, check=True)
    assert problem in child.stderr and child.stderr.count("\n") == 1
    assert int(child.stdout) << 10 < MOST_MEMORY


def test_ratio_and_length_are_bounds_of_what_is_packed_only(tmp_path, monkeypatch):
    monkeypatch.setattr(textfile, "ALWAYS_UNPACKED", 1000)
    text = b"0 1 2\n" * 5000
    (tmp_path / "x.movements.gz").write_bytes(gzip.compress(text))
    with pytest.raises(TraceError, match="unpack it first"):
        mobility.read(tmp_path / "x.movements.gz")
    (tmp_path / "x.movements").write_bytes(text)
    assert len(mobility.read(tmp_path / "x.movements")) == 5000


def _zip(text: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x.movements", text)
    return file.getvalue()


@pytest.mark.parametrize(("pack", "problem"), [
    (bz2.compress, "bzip2"), (lzma.compress, "xz"), (_zip, "zip"),
    (lambda text: text.decode().encode("utf-16"), "UTF-16"),
    (lambda text: b"\xef\xbb\xbf" + text, None),
    (lambda text: text.replace(b"\n", b"\r"), None),
    (lambda text: gzip.compress(text[:6]) + gzip.compress(text[6:]), None),
    (lambda text: "# gr\xfcn\n".encode("latin-1") + text, "UTF-8"),
])
def test_packings_and_encodings_are_read_or_named(tmp_path, pack, problem):
    (tmp_path / "x.movements").write_bytes(pack(b"0 1 2\n0 3 4\n"))
    if problem is None:
        assert mobility.read(tmp_path / "x.movements").positions(0.0).tolist() == [[1, 2], [3, 4]]
        return
    with pytest.raises(TraceError, match=problem):
        mobility.read(tmp_path / "x.movements")


def test_a_long_line_in_pieces_is_the_same(tmp_path, monkeypatch):
    numbers = " ".join(f"{t} {t % 7}.25 -{t % 5}e1" for t in range(3000))
    (tmp_path / "x.movements").write_text(numbers)
    whole = mobility.read(tmp_path / "x.movements").trajectories[0]
    monkeypatch.setattr("mobility.bonnmotion._AT_ONCE", 100)
    parts = mobility.read(tmp_path / "x.movements").trajectories[0]
    assert (whole.times == parts.times).all() and (whole.points == parts.points).all()
