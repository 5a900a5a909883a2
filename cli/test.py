"""`roamcast test`: the test suite, by pytest in the checkout, with what its tests start besides Python.

Arguments that are not ours go to pytest; its closing line is the last that is printed.
"""
from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from cli.arguments import whole

HELP = "run the test suite; other arguments go to pytest"
ROOT = Path(__file__).resolve().parent.parent
PROCESSES = 3  # on two processors: much of the suite waits, in real time
PROGRAMS = {  # what tests start besides Python (their marker `needs`), and Debian's package of it
    "chromium": "chromium",
    "chromedriver": "chromium-driver",
    "tshark": "tshark",
    "ip": "iproute2",
    "babeld": "babeld",
    "iperf3": "iperf3",
}
# What --fast runs: no Spark, no real time, no program besides Python, no search for random examples, and not these files,
# which take seconds each.
FAST = ("tests/test_references.py", "tests/topologies", "tests/mobility", "tests/node", "tests/emulation")
FAST_WITHOUT = (*(f"tests/node/test_{name}.py" for name in (
    "floods", "maodv_histories", "oracle", "programs", "recovery_bad_input", "recovery_histories")),
    "tests/topologies/test_hostile_scenarios.py")
FAST_MARKERS = "not slow and not hwsim and not real_time and not needs and not hypothesis"
ADMINISTRATION = ("/usr/sbin", "/sbin")  # where Debian has babeld, and where a user's PATH does not look


class Arguments(argparse.Namespace):
    fast: bool
    slow: bool
    hwsim: bool
    mutants: bool
    sample: int | None
    seed: int | None
    others: list[str]  # what is pytest's


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "roamcast test [--fast | --slow | --hwsim] [--seed N] [PYTEST ARGUMENTS]\n       roamcast test --mutants [--sample N] [--seed N] [ROOM ...]"
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--fast", action="store_true",
                       help="only what you run before each commit, under a minute; a path narrows it")
    which.add_argument("--slow", action="store_true", help="also the long sweeps (marker slow)")
    which.add_argument("--hwsim", action="store_true",
                       help="only real 802.11, in a guest that it builds first: takes minutes, needs root (marker hwsim)")
    which.add_argument("--mutants", action="store_true",
                       help="whether the tests notice faults: make small changes of meaning in a copy of the node, one at a time, "
                            "and run the tests of their room until one fails; exit code 1 where more than 5 %% survive")
    parser.add_argument("--sample", type=whole(1, 10000), metavar="N",
                        help="with --mutants: N changes of operators drawn by the seed, in place of those by name")
    parser.add_argument("--seed", type=whole(0, 2**32 - 1), metavar="N",
                        help="seed of the order and the examples (default: a new one)")


def run(args: Arguments) -> int:
    """Becomes pytest; returns only when it cannot start. The exit code is pytest's."""
    from cli.errors import UserError

    if not (ROOT / "tests").is_dir():
        raise UserError(f"{ROOT} has no folder tests; run this in a checkout of the source")
    if args.sample is not None and not args.mutants:
        raise UserError("--sample draws mutants; give --mutants too")
    if args.mutants:
        os.chdir(ROOT)
        drawn = [] if args.sample is None else ["--sample", str(args.sample)]
        seeded = [] if args.seed is None else ["--seed", str(args.seed)]
        os.execv(sys.executable, [sys.executable, "-m", "tests.mutants", *drawn, *seeded, *args.others])
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), *ADMINISTRATION])
    if not args.fast:
        _programs()
    seed = random.SystemRandom().randrange(2**32) if args.seed is None else args.seed
    command = [sys.executable, "-m", "pytest", f"--randomly-seed={seed}",
               f"--hypothesis-seed={seed}", "-rfE"]
    if not any(argument.startswith(("-n", "--numprocesses", "--pdb")) for argument in args.others):
        command += ["-n", "0" if args.hwsim else str(min(PROCESSES, 1 + (os.cpu_count() or 1)))]
    if args.fast:
        command += fast(args.others)
    if args.slow:
        command += ["-m", "not hwsim"]
    if args.hwsim:  # one guest at a time, and what was measured is shown
        command += ["-m", "hwsim", "-s", "tests/hwsim"]
    print(f"roamcast test: seed {seed}; `roamcast test --seed {seed}` repeats this order and these examples", flush=True)
    os.chdir(ROOT)
    os.execv(sys.executable, [*command, *args.others])


def fast(others: Sequence[str]) -> list[str]:
    """pytest's arguments for --fast; the paths are ours unless `others` has some."""
    paths = [] if any((ROOT / other.partition("::")[0]).exists() for other in others) else FAST
    return ["-m", FAST_MARKERS, *(f"--ignore={path}" for path in FAST_WITHOUT), *paths]


def _programs() -> None:
    """Get the programs that tests start; as an ordinary user, say what to type instead."""
    from cli import debian

    missing = {program: package for program, package in PROGRAMS.items() if shutil.which(program) is None}
    if not missing:
        return
    packages = sorted(set(missing.values()))
    if debian.present() and os.geteuid() == 0:
        print(f"roamcast test: installing {' '.join(packages)}, which tests start", file=sys.stderr, flush=True)
        try:
            debian.install(packages)
            return
        except debian.Unavailable as error:
            reason = f"{error}; "
    else:
        reason = ""
    print(f"roamcast test: {reason}the tests that need {', '.join(missing)} are skipped; to run them too, "
          f"as root: apt-get install {' '.join(packages)}", file=sys.stderr, flush=True)
