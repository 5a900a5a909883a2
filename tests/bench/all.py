"""Every speed that docs/performance.md states, measured again; prints its tables in Markdown.

Run by name, on a machine that does nothing else: python tests/bench/all.py [--write [bench_X.py]]
With --write they take the place of the tables in the page; with a benchmark's name only the rows that it
tells more of are measured, and take the place of theirs. Times are of the processor, one core.
"""
from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import mobility  # noqa: E402
from emulation.studies import overlay  # noqa: E402
from node import wire  # noqa: E402
from tests.bench import bench_bonnmotion, bench_filters, bench_medium, bench_sim, bench_wire, measured  # noqa: E402

PAGE = ROOT / "docs" / "performance.md"
COMMAND = "tests/bench/all.py --write"
Row = tuple[str, str, str, str]  # what, target, measured, the benchmark that tells more


def simulator() -> Iterator[Row]:
    found = bench_sim.run(ROOT / "topologies" / "park-30.toml")
    seconds, name = found["seconds"], "bench_sim.py"
    yield "`park-30` in `sim`, all protocols, records, captures", "25 x real time", f"{found['speed']:.1f} x", name
    yield "message receptions by nodes", "30,000 /s", f"{found['messages'] / seconds:,.0f} /s", name


def codec() -> Iterator[Row]:
    message = bench_wire.samples()["DATA with EVENT, 10 attributes"]
    datagram = wire.encode(bench_wire.ME, 1, [message])
    both = (bench_wire.microseconds(wire.encode, bench_wire.ME, 1, [message])
            + bench_wire.microseconds(wire.decode, datagram))
    yield "wire encode and decode, all checks, an event of 10 attributes", "25 us", f"{both:.1f} us", "bench_wire.py"


def matching() -> Iterator[Row]:
    found = bench_filters.measure(bench_filters.selective, bench_filters.EVENTS)
    yield ("events matched against 10,000 filters of 3 constraints, a selective equality", "20,000 /s",
           f"{found['rate']:,.0f} /s", "bench_filters.py")
    rates = [f"{bench_filters.measure(make, bench_filters.EVENTS // 4)['rate']:,.0f}"
             for make in (bench_filters.ranges, bench_filters.windows)]
    yield ("the same, nothing but ranges: a bound on each of three attributes, and narrow spans of one",
           "50,000 /s", f"{' and '.join(rates)} /s", "bench_filters.py")


def traces() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.movements"
        mobility.write(bench_bonnmotion.million(100), path)
        yield "a BonnMotion file of a million waypoints read", "3 s", f"{bench_bonnmotion.read(path):.2f} s", \
            "bench_bonnmotion.py"


def evaluation() -> Iterator[Row]:
    rates = []
    for protocol in ("strawman", "informed"):
        found = overlay.run(overlay.Parameters.of({"protocol": protocol, "publish": 50.0}))
        rates.append(f"{found['link_messages'] / found['cpu']:,.0f}")
    yield ("link messages of the papers' simulator, 50 events/s, strawman and informed", "150,000 /s",
           f"{' and '.join(rates)} /s", "bench_overlay.py")


def medium() -> Iterator[str]:
    yield "| hosts | our medium, x real time | ns-3.37 | receptions a second | us a reception |\n|---|---|---|---|---|\n"
    for hosts in (30, 100, 300, 1000):
        length = 100.0 if hosts <= 300 else 10.0
        found = bench_medium.run(hosts, length)
        yardstick = f"{bench_medium.NS3[hosts]:g}" if hosts in bench_medium.NS3 else ""
        yield (f"| {hosts:,} | {length / found['seconds']:.1f} | {yardstick} "
               f"| {found['receptions'] / found['seconds']:,.0f} "
               f"| {1e6 * found['seconds'] / found['receptions']:.2f} |\n")


def tables() -> Iterator[str]:
    yield f"{measured.stamp()}\n"
    yield "| what | target | measured | more from |\n|---|---|---|---|\n"
    for rows in (simulator, codec, matching, traces, evaluation):
        for what, target, value, name in rows():
            yield f"| {what} | {target} | {value} | `tests/bench/{name}` |\n"
    yield "\nThe medium alone, `tests/bench/bench_medium.py`:\n\n"
    yield from medium()


def _write_rows(name: str) -> None:
    """Measure the rows of one benchmark again and put them where they stand in the page."""
    rows = {"bench_sim.py": simulator, "bench_wire.py": codec, "bench_filters.py": matching,
            "bench_bonnmotion.py": traces, "bench_overlay.py": evaluation}
    if name not in rows:
        raise SystemExit(f"{name}: no benchmark with rows in {PAGE.name}; those are {', '.join(rows)}")
    end = f"| `tests/bench/{name}` |\n"
    load = os.getloadavg()[0]  # the page tells the one of the whole
    told = f" at a load of {load:.0f}" if load > 1 else ""
    fresh = [f"| {what} | {target} | {value}{told} {end}" for what, target, value, _ in rows[name]()]
    print("".join(fresh), end="")
    lines = PAGE.read_text(encoding="utf-8").splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.endswith(end))
    others = [line for line in lines if not line.endswith(end)]
    PAGE.write_text("".join(others[:at] + fresh + others[at:]), encoding="utf-8")


def main() -> None:
    if sys.argv[1:2] == ["--write"] and len(sys.argv) == 3:
        _write_rows(sys.argv[2])
        return
    text = ""
    for piece in tables():
        print(piece, end="", flush=True)
        text += piece
    if "--write" in sys.argv:
        measured.write(PAGE, COMMAND, text)


if __name__ == "__main__":
    main()
