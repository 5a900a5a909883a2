"""`roamcast reproduce`: an evaluation run again, drawn, and laid beside what its paper states; or one run of its simulator."""
from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cli import overlay_run
from cli.errors import UserError
from cli.progress import for_runs
from cli.terminal import raw

if TYPE_CHECKING:
    from emulation.studies.evaluation import Evaluation
    from emulation.studies.reproduce import Outcome

HELP = "repeat a paper's evaluation, or one run of the papers' simulator"
SHORT = 1  # exit code: some runs are missing
PAPERS = {  # name -> what it is, its figures
    "dynamic-topology": ("cugola-frey-murphy-picco-dynamic-topology, section V", "12 to 29"),
    "epidemic": ("recovery by the algorithms of costa-epidemic-reliability",
                 "loss, interval, buffer, gossip, patterns, subscribers, radio, once"),
    "mobile": ("the reconciliation protocols on a tree that radios repair, beside flooding", "hosts, speed, rate, interest"),
}
READINGS = {  # option -> the evaluations that leave it open, its choices, its help
    "replacement": (("dynamic-topology", "epidemic"), ("uniform", "shared", "seeker", "any_two", "end_any"),
                    "which link replaces a broken one, which the paper does not say: any that reconnects; any that shares an old "
                    "end; what a random old end finds; where several are missing, any between any two parts, or what an old end "
                    "finds in any part (default: seeker)"),
    "memory": (("dynamic-topology",), ("none", "told"),
               "who remembers what neighbors were told: nobody, as in the paper's figures, or everybody, as our nodes do "
               "(default: none)"),
}


class Arguments(argparse.Namespace):
    what: str
    out: Path | None
    figure: list[str]  # of an evaluation, as the next three
    seeds: int
    replacement: str | None
    memory: str | None
    parameters: list[str]  # of overlay, as the next two
    json: bool
    batch: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", required=True, metavar="WHAT", parser_class=type(parser))
    for name, (about, figures) in PAPERS.items():
        paper = what.add_parser(name, help=about, description=about)
        paper.add_argument("--figure", action="append", default=[], metavar="FIGURE",
                           help=f"one of {figures}; may be repeated (default: all)")
        paper.add_argument("--seeds", type=int, default=30, metavar="N", help="runs per point (default: 30)")
        for option, (papers, choices, told) in READINGS.items():  # where it says nothing, it is refused with the reason
            paper.add_argument(f"--{option}", choices=choices, help=told if name in papers else argparse.SUPPRESS)
        paper.add_argument("--out", type=Path, metavar="DIR",
                           help=f"folder of results, drawings and page; runs that are there are not repeated (default: "
                                f"reproduction/{name})")
    overlay_run.add_arguments(what.add_parser("overlay", help=overlay_run.ABOUT, description=overlay_run.ABOUT))


def run(args: Arguments) -> int:
    """0: done; 1: some runs are missing, the page says which; 2: nothing could be started; 130: Ctrl-C."""
    if args.what == "overlay":
        return overlay_run.run(args.parameters, args.json, args.batch, args.out)
    if args.memory and args.what != "dynamic-topology":
        raise UserError(f"--memory {args.memory}: in {args.what} dispatchers remember what they told, as nodes do; leave it out.")
    if args.replacement and args.what == "mobile":
        raise UserError(f"--replacement {args.replacement}: in {args.what} radios decide which link comes next; leave it out.")
    readings = {key: value for key in READINGS if (value := getattr(args, key))}
    return _repeat(args.what, args.out or Path("reproduction") / args.what, args.figure, args.seeds, readings)


def _repeat(paper: str, out: Path, figures: list[str], seeds: int, readings: dict[str, str]) -> int:
    from analysis import AnalysisError
    from emulation.studies.reproduce import reproduce

    evaluation = _evaluation(paper)
    began = time.monotonic()
    try:
        with for_runs(raw(sys.stderr)) as report:
            found = reproduce(evaluation, out, figures, seeds, readings, report)
    except AnalysisError as error:
        raise UserError(str(error)) from None
    _tell(found, evaluation, time.monotonic() - began)
    return SHORT if found.tables.missing else 0


def _evaluation(paper: str) -> Evaluation:
    if paper == "dynamic-topology":
        from emulation.studies.dynamic_topology import DYNAMIC_TOPOLOGY

        return DYNAMIC_TOPOLOGY
    if paper == "epidemic":
        from emulation.studies.epidemic import EPIDEMIC

        return EPIDEMIC
    from emulation.studies.mobile import MOBILE

    return MOBILE


def _tell(found: Outcome, evaluation: Evaluation, seconds: float) -> None:
    print(f"{found.done} runs in {seconds:.0f} s"
          + (f", {found.damaged} of them because their result was damaged" if found.damaged else "")
          + (f", {found.retried} that had failed" if found.retried else ""))
    if other := found.tables.other_code:
        print(f"note: {other:,} of {found.tables.runs:,} results were made by other code than this; remove the folder results to do them again")
    for figure, says, measured, verdict in found.verdicts:
        place = f"figure {figure}" if figure in map(str, evaluation.figures) else figure
        print(f"{verdict:<10} {place}: {says}\n{'':<11}{measured}")
    for line in found.tables.missing[:5]:
        print(f"missing: {line}", file=sys.stderr)
    print(f"Page: {found.page}")
