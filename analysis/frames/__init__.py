"""Captures as tables: pcap and pcapng files of any origin, one row a frame, our datagrams read by node/schema/.

`capture` finds the packets in the bytes of a file, `layers` what the air and the network said around them, `datagrams`
our messages; `table` puts them into columns. `source` is the Spark data source `pcap`, `store` what `roamcast ingest`
writes, `walk` what frames alone tell, `agree` where they and the records of a run contradict each other, `show` what is printed.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.run import Run

Say = Callable[[str], None]


def ingest(paths: Sequence[Path], version: str, master: str | None = None, say: Say = lambda sentence: None) -> Iterator[str]:
    """Bring the tables of runs up to date; a sentence for each. All paths are checked before the first is read.

    `version`: of this Roamcast. Raises AnalysisError.
    """
    from analysis import machine
    from analysis import run as runs
    from analysis.frames import store
    from analysis.session import check_master, session

    check_master(master)
    read = [runs.read(path) for path in paths]
    for note in store.check(read, version):
        say(note)
    machine.check()
    spark = None
    for run in read:
        if store.all_current(run):
            yield f"{run.path}: nothing has changed since it was ingested"
            continue
        if spark is None:
            say("Ingesting (Spark) ...")
            spark = session(master)
        found = store.ingest(spark, run)
        yield store.told(run, found)


def tell(paths: Sequence[Path], version: str, out: Path | None = None, master: str | None = None,
         say: Say = lambda sentence: None) -> Iterator[str]:
    """What captures and the captures of runs tell, as text. `out`: a new folder for the tables. Raises AnalysisError."""
    from analysis import machine
    from analysis.frames import show, store
    from analysis.session import check_master, session

    check_master(master)
    runs, captures = show.divided(paths)
    for note in store.check(runs, version):
        say(note)
    show.check_out(out)
    machine.check()
    say("Reading frames (Spark) ...")
    spark = session(master)
    groups: list[tuple[Run | None, Any]] = [(run, None) for run in runs] + ([(None, captures)] if captures else [])
    for run, files in groups:
        yield from show.texts(spark, run, files, None if out is None else out / run.path.resolve().name if run and len(groups) > 1 else out)
