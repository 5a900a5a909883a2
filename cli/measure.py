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
from cli.overlay import run_batch

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
    import analysis
    import emulation
    import mobility
    import node
    import topologies
    from emulation.overlay.batch import batch

    return run_batch(args, lambda lines, out: batch(lines, out, _Measure(), (node, mobility, topologies, emulation, analysis)))


def _single(args: argparse.Namespace) -> int:
    from cli.run import load
    from emulation import runner

    if args.scenario is None or args.out is not None:
        raise UserError("give a SCENARIO, or --batch FILE --out DIR")
    scenario = load(args.scenario, {} if args.seed is None else {"run.seed": args.seed})
    _only_sim(scenario.run.world, f"{args.scenario}: ")
    for note in runner.notes(scenario):
        print(f"roamcast: note: {note}", file=sys.stderr)
    print(json.dumps(_Measure().measured(scenario)))
    return 0


def _only_sim(world: str, place: str = "") -> None:
    if world != "sim":
        raise UserError(f'{place}run.world: found "{world}"; measure is for "sim"')


class _Measure:
    """Runs, one after the other; those with the same movement share the physical bound."""

    def __init__(self) -> None:
        from analysis.tally import Known

        self._known = Known()
        self._noted: set[str] = set()

    def __call__(self, values: dict) -> dict:
        """values: dotted keys of the scenario -> what they are."""
        import topologies
        from emulation import runner

        tables: dict = {}
        for key, value in values.items():
            *sections, last = key.split(".")
            table = tables
            for section in sections:
                table = table.setdefault(section, {})
                if not isinstance(table, dict):
                    raise UserError(f"{key}: found beside {section!r}, which is its table; give one of them")
            if last in table:
                raise UserError(f"{key}: found beside keys that it is the table of; give one of them")
            table[last] = value
        scenario = topologies.build(tables)
        _only_sim(scenario.run.world)
        notes = list(runner.notes(scenario))
        for note in notes:
            if note not in self._noted:  # of many runs alike each is said once
                print(f"roamcast: note: {note}", file=sys.stderr, flush=True)
        self._noted.update(notes)
        return {"parameters": values} | self.measured(scenario) | ({"notes": notes} if notes else {})

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
