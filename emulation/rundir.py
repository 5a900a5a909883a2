"""The run directory: all that a run leaves behind, in one folder (docs: the run directory).

    scenario.toml   resolved, with the seed        world.jsonl      what the world did, the radio's truth
    manifest.json   versions, machine, outcome     nodes/N.jsonl    the records of node N
    trace.movements.gz  the movement as replayed   captures/N.pcap  what node N's radio saw
    publications.csv    the log as replayed, if the scenario names one
"""
from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from emulation.capture import Captures, datagrams
from emulation.records import CUT, AppendOnly, DiskFull, RecordWriter, flush_all, is_full
from node import __version__

MANIFEST_BYTES = 1 << 14  # reserved when the run starts, so that a full disk cannot hinder the last word
MOST_NOTES, LONGEST_NOTE = 20, 300  # on the scenario, in the manifest; bytes of each
MOST_NAME = 128  # bytes: file systems take 255
PACKAGES = ("numpy", "scipy", "cbor2", "trio", "pydantic")

RUNNING, COMPLETE, INTERRUPTED, DISK_FULL, FAILED = "running", "complete", "interrupted", "disk_full", "failed"


class RunDirError(Exception):
    """The run directory cannot be created; str() is one line with the cure."""


def default_path(name: str, seed: int) -> Path:
    """runs/<name>-s<seed>-<yyyymmdd-hhmmss>, in the current folder, whatever the name is made of."""
    plain = re.sub(r"[^\w.-]+", "-", name).strip(".-").encode()[:MOST_NAME].decode(errors="ignore") or "run"
    return Path("runs") / f"{plain}-s{seed}-{datetime.now():%Y%m%d-%H%M%S}"


class RunDirectory:
    """The folder of one run and its open files. Times are the run's, in s."""

    def __init__(self, path: Path, scenario_toml: str, *, world: str, now: Callable[[], float],
                 notes: Sequence[str] = ()) -> None:
        """Makes the folder; `notes` on the scenario are for its report, as many as fit. Raises RunDirError when it exists, or cannot be created."""
        try:
            str(path.absolute()).encode()
        except UnicodeEncodeError:
            raise RunDirError(f"{path}: its name is not UTF-8, and the analysis cannot open such a folder; choose "
                              "another with --out") from None
        self.path = path
        self._now = now
        self._files: list[RecordWriter | AppendOnly | Captures] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir()
        except OSError as error:
            if path.exists() or path.is_symlink():
                raise RunDirError(f"{path}: exists already; choose another with --out, or remove it") from None
            raise _cannot_be_made(path, error) from None
        self.manifest: dict[str, object] = {
            "roamcast": __version__, "commit": _commit(Path(__file__).parent.parent / ".git"), "world": world, "outcome": RUNNING, "reason": None,
            "ended": 0.0, "started": _wall(), "stopped": None, "seconds": None, "machine": _machine(),
            "packages": _versions(), "fidelity": {}, "notes": _fitting(notes)}
        self._began = time.monotonic()
        try:
            for folder in ("nodes", "captures", "journals"):
                (path / folder).mkdir()
            self._write_manifest()
            self._write("scenario.toml", scenario_toml.encode())
        except (OSError, DiskFull) as error:
            self.discard()
            raise _cannot_be_made(path, error) from None

    def world_records(self) -> Callable[..., None]:
        """record(kind, **fields) of the world itself."""
        return self._records(self.path / "world.jsonl", -1)

    def node_records(self, node: int) -> Callable[..., None]:
        """record(kind, **fields) of one node."""
        return self._records(self.path / "nodes" / f"{node}.jsonl", node)

    def captures(self, hosts: int, port: int, epoch: float, most: int | None = None) -> Captures:
        """The pcap files of all hosts; `epoch` is the wall clock at time 0, `most` the bytes of one file, at which it ends."""
        captures = Captures(self.path / "captures", hosts, epoch, datagrams(port), most=most)
        self._files.append(captures)
        return captures

    def journal(self, node: int) -> AppendOnly:
        """The journal of one node's inputs, all its lives."""
        file = AppendOnly(self.path / "journals" / f"{node}.journal")
        self._files.append(file)
        return file

    def flush(self) -> None:
        """Write out all records and captures. Raises DiskFull after trying every file."""
        flush_all(self._files)

    def finish(self, outcome: str, ended: float, reason: str | None = None, **more: object) -> str:
        """Write out everything and the manifest's last word; returns the outcome, which a full disk changes.

        `ended` is the run's time that was reached, `more` goes into the manifest.
        """
        try:
            self.flush()
        except DiskFull as error:
            if outcome != DISK_FULL:
                outcome, reason = DISK_FULL, str(error)
        self._tell_cut()
        for folder in ("captures", "journals"):
            if not any((self.path / folder).iterdir()):
                (self.path / folder).rmdir()
        self.manifest.update(outcome=outcome, reason=reason, ended=round(ended, 6), stopped=_wall(),
                             seconds=round(time.monotonic() - self._began, 3), **more)
        self._write_manifest(last=True)
        return outcome

    def _tell_cut(self) -> None:
        """Say in the manifest which captures reached their cap."""
        try:
            names = sorted((self.path / CUT).read_text().split(), key=lambda name: (len(name), name))
            (self.path / CUT).unlink()
        except OSError:
            return
        shown = ", ".join(names[:MOST_NOTES]) + (f" and {len(names) - MOST_NOTES} more" if len(names) > MOST_NOTES else "")
        self.manifest["captures_cut"] = len(names)
        notes = self.manifest["notes"]
        assert isinstance(notes, list)
        notes.append(f"captures that reached run.capture_most and lack all later frames: {shown}; frames and records are not compared")

    def copy(self, file: Path, name: str) -> None:
        """A file that the scenario names, into the folder. Raises DiskFull."""
        self._write(name, file.read_bytes())

    def discard(self) -> None:
        """Remove the folder, which this made, with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _records(self, path: Path, node: int) -> Callable[..., None]:
        writer = RecordWriter(path, node, self._now)
        self._files.append(writer)
        return writer.record

    def _write(self, name: str, content: bytes) -> None:
        file = AppendOnly(self.path / name)
        file.append(content)
        file.flush()

    def _write_manifest(self, last: bool = False) -> None:
        """In place: the bytes were reserved (as blanks, which JSON allows) while there was room."""
        text = json.dumps(self.manifest, indent=1).encode() + b"\n"
        path = self.path / "manifest.json"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            with open(descriptor, "wb", buffering=0) as file:
                data = memoryview(text.ljust(MANIFEST_BYTES))
                while data:  # what fits is written without a complaint
                    data = data[file.write(data):]
                if last:
                    os.ftruncate(file.fileno(), len(text))
        except OSError as error:
            if is_full(error):
                raise DiskFull(f"manifest.json: {error.strerror}") from None
            raise


def _fitting(notes: Sequence[str]) -> list[str]:
    """Of the notes as much as a manifest has room for, and that there were more."""
    kept = list(notes[:MOST_NOTES])
    for k, note in enumerate(kept):
        while len(json.dumps(kept[k])) > LONGEST_NOTE:
            note = note[: len(note) * 3 // 4]
            kept[k] = note + " ..."
    return kept + ([f"and {len(notes) - MOST_NOTES} more notes on the scenario; see `roamcast check`"] if len(notes) > MOST_NOTES else [])


def _cannot_be_made(path: Path, error: Exception) -> RunDirError:
    why = getattr(error, "strerror", None) or error
    return RunDirError(f"{path}: cannot be created: {why}; choose a folder you may write to with --out")


def _wall() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _machine() -> dict[str, object]:
    return {"system": platform.system(), "release": platform.release(), "architecture": platform.machine(),
            "cpus": os.cpu_count(), "python": sys.version.split()[0]}


def _commit(git: Path) -> str | None:
    """The commit that a checkout's .git names; None for what is not one (a package, a linked worktree)."""
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return _hash(head)
        name = head.removeprefix("ref: ")
        if (git / name).is_file():
            return _hash((git / name).read_text().strip())
        packed = (line.split() for line in (git / "packed-refs").read_text().splitlines())
        return next((_hash(words[0]) for words in packed if words[1:] == [name]), None)
    except (OSError, ValueError):  # of UTF-8, too
        return None


def _hash(text: str) -> str | None:
    return text if re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", text) else None


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # a world that does not need it
    return found
