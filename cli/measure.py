"""`roamcast measure`: run scenarios in the simulator and keep their numbers alone, one or a batch.

No run directory, no captures, no Spark: for sweeps, and for a look at the numbers of one scenario. The numbers are
those that `roamcast run` would have printed (analysis/tally.py).
"""
from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from cli.errors import UserError

HELP = "run a scenario in the simulator and print its numbers as JSON; no run directory"
FAILED = 1  # exit code: some runs of the batch failed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", nargs="?", type=Path, metavar="SCENARIO", help="a TOML file")
    parser.add_argument("--seed", type=int, metavar="N", help="of all chance, in place of the scenario's")
    parser.add_argument("--batch", metavar="FILE",
                        help='many runs, a line {"key": ..., "parameters": {"hosts.count": 50, ...}} each; - for the '
                             "standard input")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where a batch writes KEY.json")


def run(args: argparse.Namespace) -> int:
    """0: done; 1: a run of the batch failed, which its file tells; 2: nothing could be started."""
    if args.batch is None:
        return _single(args)
    if args.out is None or args.scenario or args.seed is not None:
        raise UserError("--batch FILE goes with --out DIR, and with nothing else")
    import analysis
    import emulation
    import mobility
    import node
    import topologies
    from emulation.overlay import OverlayError
    from emulation.overlay.batch import batch

    try:
        args.out.mkdir(parents=True, exist_ok=True)
        with sys.stdin if args.batch == "-" else open(args.batch, encoding="utf-8") as lines:
            return FAILED if batch(lines, args.out, _Measure(), (node, mobility, topologies, emulation, analysis)) else 0
    except OverlayError as error:
        raise UserError(str(error)) from None
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}") from None


def _single(args: argparse.Namespace) -> int:
    from cli.run import load

    if args.scenario is None or args.out is not None:
        raise UserError("give a SCENARIO, or --batch FILE --out DIR")
    scenario = load(args.scenario, {} if args.seed is None else {"run.seed": args.seed})
    if scenario.run.world != "sim":
        raise UserError(f"{args.scenario}: run.world: found {scenario.run.world!r}; measure is for \"sim\"")
    print(json.dumps(_Measure().measured(scenario)))
    return 0


class _Measure:
    """Runs, one after the other; those with the same movement share the physical bound."""

    def __init__(self) -> None:
        from analysis.tally import Known

        self._known = Known()

    def __call__(self, values: dict) -> dict:
        """values: dotted keys of the scenario -> what they are."""
        import topologies

        tables: dict = {}
        for key, value in values.items():
            *sections, last = key.split(".")
            table = tables
            for section in sections:
                table = table.setdefault(section, {})
            table[last] = value
        return {"parameters": values} | self.measured(topologies.build(tables))

    def measured(self, scenario) -> dict:
        """`numbers` (nan as null), `records` by kind, `involved`: brokers of each link lost from the warm-up on, `cpu` in s."""
        import math
        import time

        from analysis.tally import Tally
        from emulation.involvement import Involvement
        from emulation.observe import observe

        began = time.process_time()
        tally = Tally(scenario)
        involvement = None if tally.treeless else Involvement()
        observe(scenario, tally.record, involvement)
        numbers = {key: None if math.isnan(value) else value for key, value in tally.numbers(self._known).items()}
        return {"numbers": numbers, "records": dict(sorted(tally.counts.items())), "link_messages": numbers["messages"],
                "involved": involvement.lost(scenario.run.warm_up) if involvement else [],
                "cpu": round(time.process_time() - began, 3)}
