"""`roamcast analyse`: tables, figures and the report of runs that were recorded before."""
from __future__ import annotations

import argparse
from pathlib import Path

HELP = "analyse recorded runs: tables, report, delivery table"


class Arguments(argparse.Namespace):
    runs: list[Path]
    out: Path | None
    master: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "exit codes: 0 done; 2 nothing to analyse; 3 analysed, but a run was not valid, and the table says why"
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN",
                        help="run directory; give several of one scenario to get means with confidence intervals")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write every number's mean, half-width, n and value per seed, "
                        "as .json or .csv, or one report of all runs, as .html")
    parser.add_argument("--master", metavar="URL", help="Spark master (default: embedded)")


def run(args: Arguments) -> int:
    """0: done; 2: not runs to analyse; 3: a run was not valid (see `roamcast run`)."""
    from cli.run import INVALID, analyse

    return 0 if analyse(args.runs, args.master, args.out) else INVALID
