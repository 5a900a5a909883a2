"""`roamcast sweep`: run a study, one scenario in several settings with many seeds, and write one table of all runs."""
from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cli.arguments import whole
from cli.errors import UserError, visible
from cli.progress import for_runs
from cli.terminal import raw

if TYPE_CHECKING:
    from emulation.studies.study import Outcome
    from topologies.study import Study

HELP = "run a study: settings times seeds in parallel, one table of all metrics"
SHORT = 1  # exit code: some runs failed
MOST_AT_ONCE = 4096
MOST_TOLD = 5  # failed runs, and notes


class Arguments(argparse.Namespace):
    study: Path
    out: Path | None
    at_once: int | None
    master: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", type=Path, metavar="STUDY",
                        help="study, a TOML file such as topologies/studies/park-beacons.toml (docs/studies.md)")
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="folder of the table and of a file for each run; what is there is not run again (default: studies/NAME)")
    add_engine(parser)
    parser.epilog = "exit codes: 0 done; 1 some runs failed or violated safety, and the table names them; 2 nothing was started; 130 Ctrl-C"


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Where runs are done, and how many at once."""
    parser.add_argument("-j", dest="at_once", type=whole(1, MOST_AT_ONCE, "runs at once"), metavar="N",
                        help="runs at once (default: one for each processor)")
    parser.add_argument("--master", metavar="URL", help="Spark master (default: embedded)")


def run(args: Arguments) -> int:
    """0: done; 1: some runs failed or violated safety; 2: nothing was started; 130: Ctrl-C, and what is done is kept."""
    from analysis import AnalysisError
    from cli.run import check_analysis
    from emulation.studies.study import sweep

    study = load(args.study)
    check_analysis(args.master)
    print(f"{study.name}: {counted(study)}", file=sys.stderr, flush=True)
    out = args.out or Path("studies") / study.name
    try:
        with for_runs(raw(sys.stderr)) as report:
            found = sweep(study, out, report, args.at_once, args.master)
    except AnalysisError as error:
        raise UserError(str(error)) from None
    return _tell(study, found, out)


def load(path: Path) -> Study:
    """The checked study, its notes told. Raises UserError with every problem."""
    import topologies
    from emulation.studies.study import StudyError, notes
    from emulation.workload import WorkloadError
    from topologies import study

    try:
        found = study.load(path)
        for note in notes(found):
            print(f"roamcast: note: {visible(note)}", file=sys.stderr, flush=True)
    except (topologies.ScenarioError, StudyError) as error:
        raise UserError(str(error)) from None
    except WorkloadError as error:
        raise UserError(f"{path}: {error}") from None
    return found


def counted(study: Study) -> str:
    some = f"{len(study.settings)} setting{'s' if len(study.settings) > 1 else ''}"
    return f"{some}, {'up to ' if study.stop else ''}{len(study.seeds)} seeds each: {'at most ' if study.stop else ''}{study.runs:,} runs"


def _tell(study: Study, found: Outcome, out: Path) -> int:
    from analysis.summary import SAFETY

    failed = [row for row in found.table.rows if row.failed]
    other = f", {found.other_code} of them because other code had made what was there" if found.other_code else ""
    print(f"{found.done} runs done{other}; {found.found} results reused")
    if study.stop is not None:
        width = "no interval yet" if math.isinf(found.widest) else f"± {found.widest:.3g}"
        reached = "" if found.widest <= study.stop.half_width else f", still wider than the requested {study.stop.half_width:g}, with no seeds left"
        print(f"{found.seeds} seeds each: {study.stop.metric} {width} at the widest{reached}")
    _first("failed", [f"{row.setting}, seed {row.seed}: {row.failed}" for row in failed], "failed")
    wrong = [row for row in found.table.rows if not row.failed and any(row.numbers.get(key, 0) for key in SAFETY)]
    _first("safety VIOLATED", [f"{row.setting}, seed {row.seed}: {', '.join(f'{row.numbers[key]:g} {key}' for key in SAFETY if row.numbers[key])}"
                               for row in wrong], ", ".join(SAFETY))
    _first("note", [f"{row.setting}, seed {row.seed}: {note}" for row in found.table.rows for note in row.notes.splitlines()], "notes")
    print(f"Table: {out / 'runs.parquet'}, {out / 'runs.csv'} ({len(found.table.rows)} rows; columns.csv has units)")
    print(f"Draw it: roamcast plot {out}")
    return SHORT if failed or wrong else 0


def _first(what: str, said: list[str], column: str) -> None:
    for text in said[:MOST_TOLD]:
        print(visible(f"{what}: {text}"), file=sys.stderr)
    if more := len(said[MOST_TOLD:]):
        print(f"{what}: and {more} more, in the table ({column})", file=sys.stderr)
