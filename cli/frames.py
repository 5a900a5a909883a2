"""`roamcast frames`: what captures tell without any records, and where they contradict those of their run."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "show who heard whom, losses and airtime, from captures alone"


class Arguments(argparse.Namespace):
    what: list[Path]
    out: Path | None
    master: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", type=Path, nargs="+", metavar="CAPTURE|RUN",
                        help="captures, analysed together, or run directories, each compared with its records")
    parser.add_argument("--out", type=Path, metavar="DIR", help="also write all rows of the tables, as Parquet, into this new folder")
    parser.add_argument("--master", metavar="URL", help="Spark master (default: embedded)")


def run(args: Arguments) -> int:
    """0: done; 2: nothing to read."""
    from analysis import AnalysisError
    from analysis import frames as captured
    from cli.errors import UserError
    from node import __version__

    try:
        for text in captured.tell(args.what, __version__, args.out, args.master, _say):
            print(text)
    except AnalysisError as error:
        raise UserError(str(error)) from None
    return 0


def _say(sentence: str) -> None:
    print(f"roamcast: {sentence}", file=sys.stderr, flush=True)
