"""`roamcast overlay`: the simulator of the papers' evaluations, one run or a batch."""
from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from pathlib import Path

from cli.errors import UserError

HELP = "run the papers' simulator once: a given tree, links replaced on a schedule"
FAILED = 1  # exit code: some runs of the batch failed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{_keys()}more in docs/reproduction.md"
    parser.add_argument("parameters", nargs="*", metavar="KEY=VALUE",
                        help="a parameter, e.g. protocol=informed rate=30 (default: Table I without events)")
    parser.add_argument("--json", action="store_true", help="print everything that was counted, as JSON")
    parser.add_argument("--batch", metavar="FILE",
                        help='many runs, one line {"key": ..., "parameters": {...}} per run; - for standard input')
    parser.add_argument("--out", type=Path, metavar="DIR", help="where a batch writes its KEY.json files")


def _keys() -> str:
    """The keys and their defaults; nothing where help is asked for before there is an environment to import them in."""
    try:
        from emulation.studies.overlay import Parameters
    except ModuleNotFoundError:
        return ""
    return "keys and their defaults: " + ", ".join(
        f"{field.name}={str(field.default).lower()}" for field in dataclasses.fields(Parameters)) + "; "


def run(args: argparse.Namespace) -> int:
    """0: done; 1: a run of the batch failed, which its file tells; 2: nothing could be started."""
    from emulation.studies.overlay import OverlayError
    from emulation.studies.overlay.network import Storm

    if args.batch is not None:
        if args.out is None or args.parameters or args.json:
            raise UserError("--batch FILE goes with --out DIR, and with nothing else")
        return run_batch(args, "overlay")
    if args.out is not None:
        raise UserError("--out DIR goes with --batch FILE; one run is printed, with --json all of it")
    try:
        return _single(args)
    except OverlayError as error:
        raise UserError(str(error)) from None
    except Storm as error:
        raise UserError(f"{error}; a shorter duration, fewer dispatchers or a lower publish would do") from None


def run_batch(args: argparse.Namespace, name: str) -> int:
    """The lines of --batch through the simulator of that name, into --out. 0, or FAILED; UserError for what cannot be read or
    written."""
    from emulation.studies.batch import batch
    from emulation.studies.overlay import OverlayError
    from emulation.studies.simulators import simulator

    try:
        given = args.batch if args.batch != "-" else sys.stdin.fileno() if sys.stdin else os.devnull
        with open(given, encoding="utf-8", closefd=isinstance(given, str)) as lines:
            args.out.mkdir(parents=True, exist_ok=True)
            return FAILED if batch(lines, args.out, simulator(name, say)) else 0
    except OverlayError as error:
        raise UserError(f"{'standard input' if args.batch == '-' else args.batch}: {error}") from None
    except OSError as error:
        raise UserError(f"{error.filename or args.batch}: {error.strerror}") from None


def say(note: str) -> None:
    """What a person should know of a scenario that is run."""
    print(f"roamcast: note: {note}", file=sys.stderr, flush=True)


def _single(args: argparse.Namespace) -> int:
    from emulation.studies import overlay

    if not args.json:  # what is not installed is said before the run, not behind it
        from emulation.studies.dynamic_topology import cost
        from emulation.studies.overlay.parameters import TREES
    values = {}
    for given in args.parameters:
        key, equals, value = given.partition("=")
        if not key or not equals:
            raise UserError(f"{given}: no parameter; write KEY=VALUE, e.g. protocol=informed")
        if key in values:
            raise UserError(f"{key}: found twice, as {values[key]!r} and {value!r}; give it once")
        values[key] = value
    result = overlay.run(overlay.Parameters.of(values))
    print(json.dumps(result) if args.json else _told(result, cost, TREES))
    return 0


def _told(result: dict, cost, trees: dict[str, str]) -> str:
    """What a person wants to know of one run. `cost`: the module that counts it; `trees`: how each tree is grown."""
    parameters, changes = result["parameters"], result["reconfigurations"]
    each = "per reconfiguration" if changes else "in the whole run"
    lines = [f"{parameters['protocol']}, {parameters['dispatchers']} dispatchers, seed {parameters['seed']}: "
             f"{result['reconfigurations']} reconfigurations, {result['link_messages']:,} messages, "
             f"{result['cpu']:.2f} s"]
    if parameters["tree"] != "balanced":
        lines.append(f"tree: {parameters['tree']}, {trees[parameters['tree']]}")
    lines += ["", f"{each:<20}{'messages':>10}{'normalized':>12}"]
    for name, messages, normalized in cost.parts(result):
        lines.append(f"{name:<20}{messages / (changes or 1):>10.2f}{normalized / (changes or 1):>12.2f}")
    lines.append(f"{'all':<20}{'':>10}{cost.normalized(result) / (changes or 1):>12.2f}")
    if changes:
        lines.append(f"dispatchers involved: {100 * cost.involved(result):.1f} %")
    if sum(result["due"]):
        lines.append(f"delivered: {sum(result['made']):,} of {sum(result['due']):,}")
    if result["recovery"]:
        lines += ["", f"{'recovery':<20}{'messages':>10}{'kbit':>12}"]
        lines += [f"{name:<20}{counts['messages']:>10,}{counts['bits'] / 1000:>12,.0f}"
                  for name, counts in result["recovery"].items()]
        late = f", half of them within {result['late'][0]:.2f} s" if result["late"] else ""
        lines.append(f"recovered: {sum(result['recovered']):,}{late}")
    lines.append("tables at the end: right" if not result["wrong"] else f"wrong entries: {result['wrong']}")
    return "\n".join(lines)
