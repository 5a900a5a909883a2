"""What was ingested of a run, in its folder `tables`: the records once, and the captures where somebody asked for frames.

`tables/ingested.json` says of which files it is: their sizes and times of change (mtime, ns). A file of another size or time
was changed, and is read again; reading every byte to compare it would cost what the ingest is there to save. It is read
again, too, after a change of node/schema/ or of the form of what is stored. `tables/ingested.parquet` has what the tasks that
read the records handed to the command (analysis/ingest.py).
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import node.schema as schema
from analysis import ingest, lives
from analysis.errors import AnalysisError
from analysis.frames import capture
from analysis.local import Context
from analysis.run import Run, some
from mobility.wholefile import write_whole

FORM = 2  # of what is stored
STATE, HANDED, FRAMES = "ingested.json", "ingested.parquet", "frames.parquet"
MEDIUM = "medium.jsonl"  # beside captures, by the medium of the world netns: what became of each frame
State = dict[str, Any]


def signs(files: Sequence[Path]) -> dict[str, list[int]]:
    """Name -> size (bytes) and time of change (ns). Raises AnalysisError."""
    found = {}
    for path in files:
        try:
            found[path.name] = path.stat()
        except OSError as error:
            raise AnalysisError(f"{path}: cannot be read: {error.strerror}") from None
    return {name: [stat.st_size, stat.st_mtime_ns] for name, stat in sorted(found.items())}


def state(run: Run) -> State:
    """What `tables/ingested.json` says; nothing where it is of another form, or not there."""
    try:
        found = json.loads((run.tables / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and found.get("form") == _form() else {}


def write_state(folder: Path, found: State) -> None:
    write_whole(folder / STATE, json.dumps({"form": _form(), **{key: value for key, value in found.items() if key != "form"}}, indent=1) + "\n")


def _form() -> str:
    digest = hashlib.blake2s(str(FORM).encode(), digest_size=8)
    for name in ("records.toml", "messages.toml", "header.toml"):
        digest.update((schema.FOLDER / name).read_bytes())
    return digest.hexdigest()


def _records_state(run: Run) -> State:
    pause = lives.pause(run)
    return {"files": signs(run.logs), "pause": repr(pause)}


def has_records(run: Run) -> bool:
    """Whether the records of a run are ingested as they are now."""
    found = state(run)
    kinds = found.get("kinds")
    if not isinstance(kinds, list) or not all(kind in schema.records() for kind in map(str, kinds)):
        return False
    return found.get("records") == _records_state(run) and (run.tables / HANDED).is_file() and all(
        (run.tables / f"{kind}.parquet").is_dir() for kind in kinds)


def records(context: Context, run: Run, folder: Path) -> ingest.Ingest:
    """The records of a run, their tables in `folder`: taken over from the tables of the run if these are of the same
    records, with the frames, and else read. Raises AnalysisError."""
    wanted, before = _records_state(run), state(run)
    if has_records(run):
        with contextlib.suppress(OSError, pa.ArrowInvalid):  # they were damaged since
            handed = _load(run.tables / HANDED)
            for name in (HANDED, FRAMES, *(f"{kind}.parquet" for kind in before["kinds"])):
                _take_over(run.tables / name, folder / name)
            write_state(folder, before)
            return ingest.whole(handed, run.logs, lives.pause(run))
        shutil.rmtree(folder)
        folder.mkdir()
    handed = ingest.read(context, run.logs, folder, lives.pause(run))
    _save(handed, folder / HANDED)
    kinds = sorted(path.name.removesuffix(".parquet") for path in folder.iterdir() if path.is_dir())
    write_state(folder, {"records": wanted, "kinds": kinds})
    return ingest.whole(handed, run.logs, lives.pause(run))


def captures(run: Run) -> tuple[list[Path], list[str]]:
    """The captures of a run, by name, and notes on files that are none. Of two of one host the first counts."""
    folder = run.path / "captures"
    found: dict[str, Path] = {}
    for file in sorted(folder.iterdir()) if folder.is_dir() else ():
        if capture.NAME.fullmatch(file.name) and file.is_file():
            found.setdefault(file.name.partition(".")[0], file)
    here = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    others = sorted(here - {path.name for path in found.values()} - {MEDIUM})
    notes = [f"in captures were left out, for their names or because the same host has another: {some(others)}"] if others else []
    return list(found.values()), notes


def has_frames(run: Run) -> bool:
    """Whether the table of frames is of the captures as they are now."""
    return bool(state(run).get("captures") == signs(captures(run)[0])) and (run.tables / FRAMES).is_dir()


def notes(run: Run) -> list[str]:
    """Where frames and records disagree, and how many frames are malformed, by what was ingested; nothing where frames were
    not, or files have changed since."""
    found = state(run)
    if not found.get("rows") or not has_records(run) or not has_frames(run):
        return []
    bad = found.get("malformed") or {}
    malformed = [f"{sum(bad.values()):,} of {found['rows']:,} frames in captures are malformed ("
                 f"{some([f'{what} {count:,}' for what, count in sorted(bad.items())])})"] if bad else []
    return [*malformed, *map(str, found.get("disagreements") or ())]


def _take_over(old: Path, new: Path) -> None:
    """The same files under another name, without a copy where the file system can."""
    if old.exists():
        if old.is_dir():
            shutil.copytree(old, new, symlinks=True, copy_function=_link)
        else:
            _link(str(old), str(new))


def _link(old: str, new: str) -> None:
    try:
        os.link(old, new, follow_symlinks=False)
    except OSError:
        shutil.copy2(old, new, follow_symlinks=False)


def _save(handed: list[dict[str, pa.Table]], path: Path) -> None:
    rows = [(part, name, table) for part, told in enumerate(handed) for name, table in told.items()]
    with path.open("wb") as file:
        pq.write_table(pa.table({"part": pa.array([part for part, _, _ in rows], pa.int64()),
                                 "name": pa.array([name for _, name, _ in rows], pa.string()),
                                 "table": pa.array([_bytes(table) for _, _, table in rows], pa.large_binary())}), file)


def _bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def _load(path: Path) -> list[dict[str, pa.Table]]:
    with path.open("rb") as file:
        rows = pq.read_table(file).to_pylist()
    handed: list[dict[str, pa.Table]] = [{} for _ in range(1 + max((row["part"] for row in rows), default=-1))]
    for row in rows:
        handed[row["part"]][row["name"]] = pa.ipc.open_stream(row["table"]).read_all()
    return handed


@contextlib.contextmanager
def growing(run: Run) -> Iterator[Path]:
    """A folder that takes the place of the run's tables if all goes well. Raises AnalysisError where that cannot be, and
    when the disk is full."""
    new = run.path / ".tables.part"
    try:
        for there in (run.tables, new):
            if there.is_symlink() or there.exists() and not there.is_dir():
                raise AnalysisError(f"{there}: not a folder, and the analysis writes its tables there; remove it")
        shutil.rmtree(new, ignore_errors=True)  # of an analysis that was killed
        new.mkdir()
        yield new
        if run.tables.exists():
            shutil.rmtree(run.tables)  # of an earlier analysis; nothing else writes there
        new.rename(run.tables)
    except AnalysisError:
        raise
    except Exception as error:  # Java's and Arrow's words for it differ
        if "No space left on device" in str(error):
            raise AnalysisError(f"{run.path}: the disk is full; make room and analyse the run again") from None
        if isinstance(error, OSError):
            raise AnalysisError(f"{run.tables}: cannot be written: {error.strerror}; the analysis writes its "
                                "tables there") from None
        raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
