"""`roamcast reproduce overlay`: the papers' simulator, one run told to a person, or a batch."""
from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cli.batch import batch_help, run_batch
from cli.errors import UserError

ABOUT = "run the papers' simulator once: a given tree, links replaced on a schedule"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{_keys()}more in docs/reproduction.md"
    parser.add_argument("parameters", nargs="*", metavar="KEY=VALUE",
                        help="parameter, such as protocol=informed rate=30 (default: Table I without events)")
    parser.add_argument("--json", action="store_true", help="print all counts as JSON")
    parser.add_argument("--batch", metavar="FILE", help=batch_help('{"key": "a", "parameters": {"rate": 30, ...}}'))
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the KEY.json files of a batch")


def _keys() -> str:
    """The keys and their defaults; nothing where help is asked for before there is an environment to import them in."""
    try:
        from emulation.studies.overlay import Parameters
    except ModuleNotFoundError:
        return ""
    return "keys and their defaults: " + ", ".join(
        f"{field.name}={str(field.default).lower()}" for field in dataclasses.fields(Parameters)) + "; "


def run(parameters: list[str], as_json: bool, batch: str | None, out: Path | None) -> int:
    """0: done; 1: a run of the batch failed, which its file tells; 2: nothing could be started."""
    from emulation.studies.overlay import OverlayError
    from emulation.studies.overlay.network import Storm

    if batch is not None:
        if out is None or parameters or as_json:
            raise UserError("--batch FILE goes with --out DIR, and with nothing else")
        return run_batch(batch, out, "overlay")
    if out is not None:
        raise UserError("--out DIR goes with --batch FILE; one run is printed, with --json all of it")
    try:
        return _single(parameters, as_json)
    except OverlayError as error:
        raise UserError(str(error)) from None
    except Storm as error:
        raise UserError(f"{error}; a shorter duration, fewer dispatchers or a lower publish would do") from None


def _single(parameters: list[str], as_json: bool) -> int:
    # before the run: what is not installed is said at once
    from emulation.studies import overlay
    from emulation.studies.dynamic_topology import cost

    values: dict[str, object] = {}
    for given in parameters:
        key, equals, value = given.partition("=")
        if not key or not equals:
            raise UserError(f"{given}: no parameter; write KEY=VALUE, such as protocol=informed")
        if key in values:
            raise UserError(f"{key}: found twice, as {values[key]!r} and {value!r}; give it once")
        values[key] = value
    result = overlay.run(overlay.Parameters.of(values))
    if as_json:
        print(json.dumps(result))
    else:
        print(_told(result, list(cost.parts(result)), cost.normalized(result), cost.involved(result)))
    return 0


def _told(result: Mapping[str, Any], costs: list[tuple[str, float, float]], normalized: float, involved: float) -> str:
    """What a person wants to know of one run. `costs`: (message type, messages, normalized cost), in all `normalized`;
    `involved`: mean share of the dispatchers that a reconfiguration involves."""
    from emulation.studies.overlay.parameters import TREES

    parameters, changes = result["parameters"], result["reconfigurations"]
    each = "per reconfiguration" if changes else "in the whole run"
    lines = [f"{parameters['protocol']}, {parameters['dispatchers']} dispatchers, seed {parameters['seed']}: "
             f"{result['reconfigurations']} reconfigurations, {result['link_messages']:,} messages, "
             f"{result['cpu']:.2f} s"]
    if parameters["tree"] != "balanced":
        lines.append(f"tree: {parameters['tree']}, {TREES[parameters['tree']]}")
    lines += ["", f"{each:<20}{'messages':>10}{'normalized':>12}"]
    lines += [f"{name:<20}{messages / (changes or 1):>10.2f}{cost / (changes or 1):>12.2f}" for name, messages, cost in costs]
    lines.append(f"{'all':<20}{'':>10}{normalized / (changes or 1):>12.2f}")
    if changes:
        lines.append(f"dispatchers involved: {100 * involved:.1f} %")
    if sum(result["due"]):
        lines.append(f"delivered: {sum(result['made']):,} of {sum(result['due']):,}")
    if result["recovery"]:
        lines += _recovery(result)
    lines.append("tables at the end: right" if not result["wrong"] else f"wrong entries: {result['wrong']}")
    return "\n".join(lines)


def _recovery(result: Mapping[str, Any]) -> list[str]:
    lines = ["", f"{'recovery':<20}{'messages':>10}{'kbit':>12}"]
    lines += [f"{name:<20}{counts['messages']:>10,}{counts['bits'] / 1000:>12,.0f}"
              for name, counts in result["recovery"].items()]
    late = f", half of them within {result['late'][0]:.2f} s" if result["late"] else ""
    return [*lines, f"recovered: {sum(result['recovered']):,}{late}"]
