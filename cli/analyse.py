"""`roamcast analyse`: tables, figures and the report of runs that were recorded before."""
from __future__ import annotations

import argparse
from pathlib import Path

from cli.errors import UserError

HELP = "analyse recorded runs: tables, report, the delivery table"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN",
                        help="run directories; several of one scenario give means with confidence intervals")
    parser.add_argument("--master", metavar="URL", help="Spark master (default: embedded)")


def run(args: argparse.Namespace) -> int:
    import analysis

    try:
        summary = analysis.analyse(args.runs, args.master)
    except analysis.AnalysisError as error:
        raise UserError(str(error)) from None
    print(summary.table())
    print()
    for report in summary.reports:
        print(f"Report: {report}")
    return 0
