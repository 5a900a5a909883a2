"""`roamcast replay`: run one node again from its input journal and print its records."""
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from cli.errors import UserError

Record = Mapping[str, Any]
HELP = "run one node again from its journal"
JOURNALS = ("a journal holds all inputs of a node, so that it can run again; "
            "`roamcast run --journal` keeps journals/N.journal for each node, `roamcast node --journal FILE` its own")


class Arguments(argparse.Namespace):
    journal: Path
    until: float | None
    check: Path | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", type=Path, help="journal: journals/N.journal of a run, or a field node's")
    parser.add_argument("--until", type=float, metavar="T", help="stop at T seconds of the run")
    parser.add_argument("--check", type=Path, metavar="RECORDS",
                        help="compare with the original records (nodes/N.jsonl) instead of printing")


def run(args: Arguments) -> int:
    """0: done, or the records are the same; 1: they differ."""
    from cli.hosts import whose
    from node.journal import JournalError, NoJournal, replay

    if args.journal.parent.name == "journals" and (told := whose(args.journal)):
        print(f"roamcast: {told}", file=sys.stderr)
    until = float("inf") if args.until is None else args.until
    if not until >= 0:
        raise UserError(f"--until {until:g}: it takes a number of seconds, 0 or more")
    try:
        replayed = _until(replay(args.journal, _say), until)
        if args.check is not None:
            return _check(replayed, _until(_read(args.check), until), args.check)
        for record in replayed:
            print(json.dumps(record))
    except JournalError as error:
        raise UserError(f"{error}; {JOURNALS}" if isinstance(error, NoJournal) else str(error)) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        what = f"; {JOURNALS}" if str(error.filename) == str(args.journal) else ""
        raise UserError(f"{error.filename}: {error.strerror}{what}") from None
    return 0


def _say(sentence: str) -> None:
    print(f"roamcast: {sentence}", file=sys.stderr)


def _until(records: Iterator[Record], until: float) -> Iterator[Record]:
    for record in records:
        if record["t"] > until:
            return
        yield record


def _read(path: Path) -> Iterator[Record]:
    from node.journal import JournalError, of_the_shell, read_lines

    for where, record in read_lines(path, "a record", _say):
        if not isinstance(record.get("t"), int | float):
            raise JournalError(f"{where}: not a record; restore the file from a copy")
        if not of_the_shell(record):
            yield record


def _check(replayed: Iterator[Record], originals: Iterator[Record], path: Path) -> int:
    count = 0
    for number, (again, original) in enumerate(zip_longest(replayed, originals), 1):
        again = None if again is None else json.loads(json.dumps(again))
        if again != original:
            print(f"{path}:{number}: the first difference")
            print(f"  recorded: {_show(original)}")
            print(f"  replayed: {_show(again)}")
            return 1
        count = number
    if not count:
        raise UserError(f"{path}: nothing to compare: neither it nor the replay has a record in that time")
    print(f"{count} records, all the same")
    return 0


def _show(record: Record | None) -> str:
    return "nothing" if record is None else json.dumps(record)

