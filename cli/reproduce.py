"""`roamcast reproduce`: an evaluation run again, drawn, and laid beside what its paper states."""
from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cli.errors import UserError
from cli.terminal import raw

HELP = "repeat a paper's evaluation: dynamic-topology, epidemic or mobile"
SHORT = 1  # exit code: some runs are missing
LINES = 20  # of progress, where the output is no terminal


# name -> what it is, its figures, and where it stands
EVALUATIONS = {
    "dynamic-topology": ("cugola-frey-murphy-picco-dynamic-topology, section V", "12 to 29",
                         "emulation.studies.dynamic_topology", "DYNAMIC_TOPOLOGY"),
    "epidemic": ("recovery by the algorithms of costa-epidemic-reliability",
                 "loss, interval, buffer, gossip, patterns, subscribers, radio, once", "emulation.studies.epidemic",
                 "EPIDEMIC"),
    "mobile": ("the reconciliation protocols on a tree that radios repair, beside flooding", "hosts, speed, rate, interest",
               "emulation.studies.mobile", "MOBILE"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", choices=list(EVALUATIONS), help="; ".join(
        f"{name}: {about}" for name, (about, *_) in EVALUATIONS.items()))
    parser.add_argument("--figure", action="append", metavar="FIGURE", help="; ".join(
        f"{name}: {figures}" for name, (_, figures, *_) in EVALUATIONS.items()) + "; may be repeated (default: all)")
    parser.add_argument("--seeds", type=int, default=30, metavar="N", help="runs per point (default: 30)")
    parser.add_argument("--replacement", choices=["uniform", "shared", "seeker", "any_two", "end_any"],
                        help="papers' simulator: which link replaces a broken one, which the paper does not "
                             "say: any that reconnects; any that shares an old end; what a random old end finds; "
                             "where several are missing, any between any two parts, or what an old end finds in any "
                             "part (default: seeker)")
    parser.add_argument("--memory", choices=["none", "told"],
                        help="dynamic-topology: nobody remembers what neighbors were told, as in the paper's figures, "
                             "or everybody does, as our nodes do (default: none)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of one evaluation: results, drawings, page; runs that "
                        "are there are not repeated (default: reproduction/NAME)")


def run(args: argparse.Namespace) -> int:
    """0: done; 1: some runs are missing, the page says which; 2: nothing could be started; 130: Ctrl-C."""
    from analysis import AnalysisError
    from emulation.studies.reproduce import reproduce

    *_, module, name = EVALUATIONS[args.paper]
    if args.memory and args.paper != "dynamic-topology":
        raise UserError(f"--memory {args.memory}: in {args.paper} dispatchers remember what they told, as nodes do; leave it out.")
    if args.replacement and args.paper == "mobile":
        raise UserError(f"--replacement {args.replacement}: in {args.paper} radios decide which link comes next; leave it out.")
    evaluation = getattr(importlib.import_module(module), name)
    readings = {key: value for key in ("replacement", "memory") if (value := getattr(args, key))}

    began = time.monotonic()
    try:
        with _progress() as report:
            found = reproduce(evaluation, args.out or Path("reproduction") / args.paper, args.figure or (), args.seeds,
                              readings, report)
    except AnalysisError as error:
        raise UserError(str(error)) from None
    print(f"{found.done} runs in {time.monotonic() - began:.0f} s"
          + (f", {found.damaged} of them because their result was damaged" if found.damaged else "")
          + (f", {found.retried} that had failed" if found.retried else ""))
    for figure, says, measured, verdict in found.verdicts:
        place = f"figure {figure}" if figure in map(str, evaluation.figures) else figure
        print(f"{verdict:<10} {place}: {says}\n{'':<11}{measured}")
    for line in found.tables.missing[:5]:
        print(f"missing: {line}", file=sys.stderr)
    print(f"Page: {found.page}")
    return SHORT if found.tables.missing else 0


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    if sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(total=None, unit="run", file=raw(sys.stderr), leave=False, dynamic_ncols=True) as bar:
            def report(done: int, whole: int) -> None:
                bar.total = whole
                bar.update(done - bar.n)

            yield report
        return
    told = 0.0

    def report(done: int, whole: int) -> None:
        nonlocal told
        if done and done / whole >= told + 1 / LINES:
            told = done / whole
            print(f"{done} of {whole} runs", file=sys.stderr, flush=True)

    yield report
