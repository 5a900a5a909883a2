"""The folder of an evaluation or a study: of one of them, and one process at a time works there."""
from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from analysis.errors import AnalysisError
from emulation.studies import results


@contextmanager
def alone(out: Path, kind: str, name: str, lost: str) -> Iterator[Path]:
    """Makes `out`, and its folder of results, which is handed out. The file `out`/KIND holds the name of what the folder is of,
    and is locked as long as this goes on; `lost`: what another one would write over. Raises AnalysisError."""
    folder = out / "results"
    for other in {"evaluation", "study"} - {kind}:
        if (out / other).exists():
            raise AnalysisError(f"{out}: holds the results of another command (its file {other}); give another --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (out / kind).open("a+", encoding="utf-8")
    except OSError as error:
        raise AnalysisError(f"{error.filename}: cannot be created: {error.strerror}; give another --out") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AnalysisError(f"{out}: another `roamcast {'sweep' if kind == 'study' else 'reproduce'}` works there; wait until it "
                                "ends, or give another --out") from None
        except OSError:  # a file system that has no locks
            pass
        file.seek(0)
        known = file.read(1000).strip()
        if known not in ("", name):
            raise AnalysisError(f"{out}: holds the {kind} {known!r}, whose {lost} would be lost; give another --out")
        if not known:
            print(name, file=file, flush=True)
        results.tidy(folder)
        yield folder.resolve()
