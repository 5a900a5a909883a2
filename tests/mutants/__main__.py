"""Makes mutants, one after another, and runs the tests of their room: `./roamcast test --mutants [ROOM ...]`.

Each of PROCESSES has a copy of the checkout of its own; the working tree is never touched. Exit code 1 where more than
MOST of the mutants of all rooms asked for survive that are not equivalent.
"""
from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

from tests.mutants import ROOT, Mutant, rooms
from tests.mutants.operators import sample

PROCESSES = 2
MOST = 0.05  # share of mutants that may survive
PATIENCE = 300.0  # s for the tests of a mutant; what takes longer hangs, and is caught
NEEDED = ("node", "tests", "emulation", "mobility", "topologies", "analysis", "cli", "pyproject.toml", "roamcast.py", "roamcast", "docs")
FOLDERS = {"reconcile": "node/reconcile/", "routing": "node/routing/", "trees": "node/trees/", "roaming": "node/roaming/",
           "recovery": "node/recovery/", "channel": ("node/links.py", "node/channel.py")}
TESTS = {  # of each room, quick ones first: they run until one fails
    "reconcile": ("strawman", "figures", "transient", "reconcile_path", "routing_rules", "reconcile", "replay", "oracle"),
    "routing": ("seen_events", "routing_rules", "routing", "replay", "once", "strategies", "nouns", "reconcile_path", "figures",
                "transient", "handoff", "oracle"),
    "trees": ("tree_rules", "maodv", "maodv_histories"),
    "roaming": ("roaming_rules", "stop_way", "handoff", "roaming_client", "roaming_liars", "roaming"),
    "recovery": ("recovery_parts", "recovery_algorithms", "nouns", "recovery_histories"),
    "channel": ("channel", "allowance", "once", "links"),
}


class Outcome(NamedTuple):
    room: str
    mutant: Mutant
    failed: str  # the test that noticed it; empty: none
    seconds: float


def copy_of_checkout(folder: Path) -> Path:
    """What the tests of the node need, without what Python and pytest leave beside it."""
    for name in NEEDED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "runs"))
        else:
            shutil.copy2(ROOT / name, folder / name)
    return folder


def tests_of(room: str) -> list[str]:
    return [f"tests/node/test_{name}.py" for name in TESTS[room]]


def first_failure(folder: Path, tests: Sequence[str]) -> str:
    """Run the tests until one fails; its name, or why there is none. Empty if all pass."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "tests.mutants.plugin", "-x", "-q",
               "--tb=no", "-rfE", *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"hangs for {PATIENCE:.0f} s"
    if done.returncode == 0:
        return ""
    failed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return failed[0].rpartition("/")[2] if failed else f"pytest ends with {done.returncode}"


def outcome(folder: Path, room: str, mutant: Mutant) -> Outcome:
    file, began = folder / mutant.file, time.monotonic()
    text = file.read_text()
    try:
        file.write_text(mutant.applied(text))
        Path(cache_from_source(str(file))).unlink(missing_ok=True)
        failed = first_failure(folder, tests_of(room))
    finally:
        file.write_text(text)
        Path(cache_from_source(str(file))).unlink(missing_ok=True)
    return Outcome(room, mutant, failed, time.monotonic() - began)


def work(jobs: queue.SimpleQueue[tuple[str, Mutant]], found: list[Outcome], total: int) -> None:
    """Take mutants until there are none."""
    with tempfile.TemporaryDirectory(prefix="roamcast-mutants-") as place:
        folder = copy_of_checkout(Path(place))
        while True:
            try:
                room, mutant = jobs.get_nowait()
            except queue.Empty:
                return
            one = outcome(folder, room, mutant)
            found.append(one)
            print(f"{len(found):4}/{total}  {one.seconds:5.1f} s  {room}: {mutant.name}: {_verdict(one)}", flush=True)


def _verdict(one: Outcome) -> str:
    if one.failed:
        return f"caught by {one.failed}"
    return f"equivalent: {one.mutant.equivalent}" if one.mutant.equivalent else "SURVIVED"


def report(found: Sequence[Outcome]) -> float:
    """The table; the share that survives of what is not equivalent."""
    print(f"\n{'room':12} {'mutants':>7} {'caught':>7} {'survived':>8} {'equivalent':>10} {'share caught':>13}")
    for room in [*dict.fromkeys(one.room for one in sorted(found)), "all"]:
        of = [one for one in found if room in (one.room, "all")]
        caught = sum(bool(one.failed) for one in of)
        equal = sum(not one.failed and bool(one.mutant.equivalent) for one in of)
        share = caught / (len(of) - equal) if len(of) > equal else 1.0
        print(f"{room:12} {len(of):7} {caught:7} {len(of) - caught - equal:8} {equal:10} {share:13.1%}")
    for one in sorted(found):
        if not one.failed and not one.mutant.equivalent:
            print(f"survived: {one.room}: {one.mutant.name} ({one.mutant.file}): {one.mutant.does}")
        if one.failed and one.mutant.equivalent:
            print(f"not equivalent: {one.room}: {one.mutant.name}: caught by {one.failed}")
    return 1.0 - share


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="roamcast test --mutants")
    parser.add_argument("rooms", nargs="*", metavar="ROOM")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    args = parser.parse_args(arguments)
    known = rooms()
    if strange := [room for room in args.rooms if room not in known]:
        print(f"roamcast test: no mutants of {', '.join(strange)}; there are those of {', '.join(known)}", file=sys.stderr)
        return 2
    chosen = {room: known[room] for room in args.rooms or known}
    if args.sample is not None:
        print(f"mutants by chance: --sample {args.sample} --seed {args.seed} repeats them")
        chosen = sample(list(chosen), args.sample, args.seed)
    try:
        for mutant in (mutant for mutants in chosen.values() for mutant in mutants):
            mutant.applied((ROOT / mutant.file).read_text())
    except ValueError as error:
        print(f"roamcast test: {error}", file=sys.stderr)
        return 2
    return run(chosen)


def run(chosen: dict[str, list[Mutant]]) -> int:
    jobs: queue.SimpleQueue[tuple[str, Mutant]] = queue.SimpleQueue()
    for room, mutants in chosen.items():
        for mutant in mutants:
            jobs.put((room, mutant))
    with tempfile.TemporaryDirectory(prefix="roamcast-mutants-") as place:  # what fails unchanged tells nothing
        folder = copy_of_checkout(Path(place))
        for room in chosen:
            if failed := first_failure(folder, tests_of(room)):
                print(f"roamcast test: {failed} fails without any mutant; mend that first", file=sys.stderr)
                return 2
    found: list[Outcome] = []
    began, total = time.monotonic(), jobs.qsize()
    workers = [threading.Thread(target=work, args=(jobs, found, total), daemon=True) for _ in range(PROCESSES)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    survived = report(found)
    print(f"{total} mutants in {time.monotonic() - began:.0f} s")
    return int(survived > MOST)


if __name__ == "__main__":
    sys.exit(main())
