"""What a million frames cost: captures of a real run, repeated until there are enough, read by the tasks of `roamcast ingest`
and asked by `roamcast frames`.

Each command runs in a process of its own; its processor time is that of all its processes, Java and Python, and its memory the
most that they had together, looked at every 0.2 s.

Run by name: python tests/bench/bench_frames.py [frames] [--write]
"""
from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from node import schema  # noqa: E402
from tests.bench import measured  # noqa: E402

PAGE = ROOT / "docs" / "captures.md"
COMMAND = "tests/bench/bench_frames.py --write"
SCENARIO = ROOT / "topologies" / "park-12.toml"
HEAD, RECORD = 24, 16
# where in a record the sender's epoch is: behind Ethernet, IPv4, UDP and the fields of our header before it
EPOCH = RECORD + 42 + struct.calcsize("!" + "".join(form for _, form, _ in schema.header().fields[:[
    name for name, *_ in schema.header().fields].index("epoch")]))
TICKS = os.sysconf("SC_CLK_TCK")


def scaled(run: Path, frames: int) -> int:
    """Repeat the run's captures, each time later and as another life, until they have that many frames; how many."""
    files = sorted((run / "captures").glob("*.pcap"))
    pieces = {file: _records(file.read_bytes()) for file in files}
    length = 1 + max(struct.unpack_from("<I", records[-1])[0] - struct.unpack_from("<I", records[0])[0] for records in pieces.values())
    times = -(-frames // sum(map(len, pieces.values())))
    for file, records in pieces.items():
        head = file.read_bytes()[:HEAD]
        with file.open("wb") as out:
            out.write(head)
            for k in range(times):
                out.write(b"".join(_later(record, k, length) for record in records))
    return times * sum(map(len, pieces.values()))


def _records(data: bytes) -> list[bytes]:
    at, found = HEAD, []
    while at < len(data):
        size = RECORD + struct.unpack_from("<I", data, at + 8)[0]
        found.append(data[at:at + size])
        at += size
    return found


def _later(record: bytes, times: int, length: int) -> bytes:
    data = bytearray(record)
    struct.pack_into("<I", data, 0, struct.unpack_from("<I", data)[0] + times * length)
    struct.pack_into("!I", data, EPOCH, struct.unpack_from("!I", data, EPOCH)[0] + times)
    return bytes(data)


def measure(*arguments: str) -> tuple[float, float, float]:
    """(wall s, processor s, MB at most) of a command and all the processes under it."""
    begun, spent, most = time.monotonic(), dict[int, float](), 0.0
    process = subprocess.Popen([str(ROOT / "roamcast"), *arguments], stdout=subprocess.DEVNULL)
    while process.poll() is None:
        resident = 0.0
        for pid in _family(process.pid):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            spent[pid] = sum(map(int, fields[11:13])) / TICKS
            resident += int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        most = max(most, resident)
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"{arguments}: ended with {process.returncode}")
    return time.monotonic() - begun, sum(spent.values()), most


def _family(pid: int) -> list[int]:
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                todo += map(int, task.read_text().split())
            except OSError:
                pass
    return found


def main() -> None:
    given = [argument for argument in sys.argv[1:] if argument != "--write"]
    frames = int(given[0]) if given else 1_000_000
    text = f"{measured.stamp()}\n"
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "run")
        subprocess.run([str(ROOT / "roamcast"), "run", str(SCENARIO), "--no-analysis", "--out", str(run)], check=True, stdout=subprocess.DEVNULL)
        count = scaled(run, frames)
        size = sum(file.stat().st_size for file in (run / "captures").iterdir())
        text += (f"{count:,} frames, {size / 1e6:,.0f} MB of captures of `park-12` in `sim`, repeated.\n\n"
                 "| command | wall s | processor s | MB at most |\n|---|---|---|---|\n")
        for name, arguments in (("`ingest RUN`, frames and comparison", ("ingest", str(run))), ("`ingest RUN` again", ("ingest", str(run))),
                                ("`frames RUN`, after it", ("frames", str(run)))):
            wall, spent, most = measure(*arguments)
            text += f"| {name} | {wall:.0f} | {spent:.0f} | {most:,.0f} |\n"
            print(text.splitlines()[-1], flush=True)
    print(text)
    if "--write" in sys.argv:
        measured.write(PAGE, COMMAND, text)


if __name__ == "__main__":
    main()
