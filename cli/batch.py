"""`--batch` of `roamcast run` and `roamcast reproduce overlay`: many runs of one simulator, a file of numbers for each."""
from __future__ import annotations

import os
import sys
from pathlib import Path

from cli.errors import UserError

FAILED = 1  # exit code: some runs of the batch failed


def batch_help(example: str) -> str:
    return f"do the runs that FILE lists (- for standard input), a line {example} each, and write their numbers; needs --out"


def run_batch(file: str, out: Path, name: str, at_once: int | None = None) -> int:
    """The lines of `file` ("-": standard input) through the simulator of that name, into `out`. 0, or FAILED; UserError for
    what cannot be read or written."""
    from analysis import AnalysisError
    from emulation.studies.batch import batch
    from emulation.studies.overlay import OverlayError

    try:
        given = file if file != "-" else sys.stdin.fileno() if sys.stdin else os.devnull
        with open(given, encoding="utf-8", closefd=isinstance(given, str)) as lines:
            out.mkdir(parents=True, exist_ok=True)
            return FAILED if batch(lines, out, name, note, at_once) else 0
    except OverlayError as error:
        raise UserError(f"{'standard input' if file == '-' else file}: {error}") from None
    except AnalysisError as error:
        raise UserError(str(error)) from None
    except OSError as error:
        raise UserError(f"{error.filename or file}: {error.strerror}") from None


def note(text: str) -> None:
    """What a person should know of a scenario that is run."""
    print(f"roamcast: note: {text}", file=sys.stderr, flush=True)
