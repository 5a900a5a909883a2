"""`roamcast ingest`: the records and captures of runs into Parquet, once."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "read the records and captures of runs into tables, once"


class Arguments(argparse.Namespace):
    runs: list[Path]
    master: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = ("A run whose files have not changed since (by size and time of change) is not read again. `analyse` and `frames` "
                     "use what is there.")
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run directory, with or without captures")
    parser.add_argument("--master", metavar="URL", help="Spark master (default: embedded)")


def run(args: Arguments) -> int:
    """0: done; 2: not runs to ingest, and none was."""
    from analysis import AnalysisError
    from analysis import frames as captured
    from cli.errors import UserError
    from node import __version__

    try:
        for told in captured.ingest(args.runs, __version__, args.master, _say):
            print(told)
    except AnalysisError as error:
        raise UserError(str(error)) from None
    return 0


def _say(sentence: str) -> None:
    print(f"roamcast: {sentence}", file=sys.stderr, flush=True)
