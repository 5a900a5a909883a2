"""`roamcast check`: is this scenario in order, and what would a run of it start? Nothing is started."""
from __future__ import annotations

import argparse
from pathlib import Path

HELP = "check scenarios without running them"


class Arguments(argparse.Namespace):
    scenarios: list[Path]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenarios", type=Path, nargs="+", metavar="SCENARIO", help="scenario, a TOML file")


def run(args: Arguments) -> int:
    from cli.run import commands, load
    from emulation import runner
    from emulation.workload import expected

    for path in args.scenarios:
        scenario = load(path, {})
        print(f"{path}: OK: {len(scenario.names)} hosts, {scenario.run.duration:g} s in {scenario.run.world}, {expected(scenario)}")
        for command in commands(scenario):
            print(f"{path}: {command}; `roamcast run` starts it only with --allow-commands")
        for note in runner.notes(scenario):
            print(f"{path}: note: {note}")
    return 0
