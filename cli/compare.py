"""`roamcast compare`: runs of one scenario side by side, and which differences are noise."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from cli.errors import UserError, visible
from cli.run import INVALID

HELP = "compare runs of one scenario and tell differences from noise"


class Arguments(argparse.Namespace):
    runs: list[Path]
    right: list[Path]
    out: Path | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN",
                        help="run directories of one scenario: two make one side each, more are divided by their world and "
                             "node settings, and each setting is compared with the first; or the folder of one study")
    parser.add_argument("--with", dest="right", type=Path, nargs="+", default=[], metavar="RUN",
                        help="the runs of the right side, where settings do not differ")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the numbers, as .json or .csv, or one report of all runs, as .html")


def run(args: Arguments) -> int:
    """0: done; 2: not runs to compare; 3: a run was not valid (see `roamcast run`), and so is the comparison."""
    from analysis import AnalysisError, compare, means

    try:
        if args.out is not None:
            means.check_name(args.out, (*means.FORMATS, means.PAGE))
        found = compare.compare(args.runs, args.right, _say)
        print(visible("\n\n".join(map(compare.table, found))))
        if args.out is not None and args.out.suffix == means.PAGE:
            from analysis import several

            several.write_sides(found, args.out)
        elif args.out is not None:
            compare.write(found, args.out)
    except AnalysisError as error:
        raise UserError(str(error)) from None
    return 0 if all(one.valid for one in found) else INVALID


def _say(sentence: str) -> None:
    print(f"roamcast: {sentence}", file=sys.stderr, flush=True)
