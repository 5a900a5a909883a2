"""`roamcast measure`: run scenarios in the simulator and keep their numbers alone, one or a batch.

No run directory, no captures, no Spark: for sweeps, and for a look at the numbers of one scenario. The numbers are
those that `roamcast run` would have printed (analysis/tally.py).
"""
from __future__ import annotations

import argparse
import json
from pathlib import Path

from cli.errors import UserError
from cli.overlay import run_batch, say

HELP = "simulate a scenario and print its numbers as JSON, without a run directory"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", nargs="?", type=Path, metavar="SCENARIO", help="a TOML file")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of all random streams (default: the scenario's)")
    parser.add_argument("--batch", metavar="FILE",
                        help='many runs, one line {"key": ..., "parameters": {"hosts.count": 50, ...}} per run; - for '
                             "standard input")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where a batch writes its KEY.json files")


def run(args: argparse.Namespace) -> int:
    """0: done; 1: a run of the batch failed, which its file tells; 2: nothing could be started."""
    if args.batch is None:
        return _single(args)
    if args.out is None or args.scenario or args.seed is not None:
        raise UserError("--batch FILE goes with --out DIR, and with nothing else")
    return run_batch(args, "measure")


def _single(args: argparse.Namespace) -> int:
    from cli.run import load
    from emulation import runner
    from emulation.studies.measure import Measure, MeasureError, only_sim

    if args.scenario is None or args.out is not None:
        raise UserError("give a SCENARIO, or --batch FILE --out DIR")
    scenario = load(args.scenario, {} if args.seed is None else {"run.seed": args.seed})
    try:
        only_sim(scenario.run.world)
    except MeasureError as error:
        raise UserError(f"{args.scenario}: {error}") from None
    for note in runner.notes(scenario):
        say(note)
    print(json.dumps(Measure().measured(scenario)))
    return 0
