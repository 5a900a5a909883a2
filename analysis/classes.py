"""`python -m analysis.classes FILE`: let Java write down the classes that an analysis loads, for a quicker start.

A part of the set-up (cli/java.py). Java looks into the file by itself, and passes over one that another Java wrote.
"""
from __future__ import annotations

import sys
from pathlib import Path

from analysis import session

PATIENCE = 300.0  # s for Java to write the file


def write(file: Path) -> None:
    """Start Spark, have it do jobs like those of an analysis, and end it. Raises AnalysisError when Spark does not start."""
    session.EMBEDDED_SETTINGS[session.OPTIONS] += f" -XX:ArchiveClassesAtExit={file} -Xlog:disable"
    context = session.context()
    shared = context.broadcast(0)
    for _ in range(2):
        (context.parallelize([(0, b""), (1, b"")], 2).partitionBy(2, int).values()
         .mapPartitionsWithIndex(lambda part, rows: [(part + shared.value, len(list(rows)))]).collect())
    assert context._gateway is not None  # it runs
    java = context._gateway.proc
    context.stop()
    java.stdin.close()  # at which it ends
    java.wait(PATIENCE)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
