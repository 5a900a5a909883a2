"""The files of a node: its records and the journal of its inputs, within a disk budget, safe from power cuts.

Records are written and synced to the disk every half second, a line of the journal is written at once and synced
with them: what a power cut takes is at most the last second, as long as the disk syncs within half a second (it
is said when it does not). A full disk loses lines, says so once, and stops nothing.

A full file of records becomes a piece `NAME.1`, `NAME.2`, ... and a new one begins, with a record `continued` and
what still stands (this life, its subscriptions, links, neighbors), so that the oldest pieces can go. A journal
cannot be cut within a life, or it would not replay: the pieces of earlier lives go first, and then it ends.
"""
from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

import trio

from node.ids import NodeId
from node.journal import open_journal
from node.shell import DaemonError, say

PIECES = 8  # in a budget, the one being written included
SLOW = 0.5  # s; a disk that takes longer to sync is told of
# what a record begins, and which fields it is known by; the record that ends it; a later one takes its place
STANDING = {"node_started": (), "subscribed": ("client", "hash"), "link_gained": ("link",),
            "neighbor_up": ("neighbor",), "tree_state": (), "interface": (), "clock": ()}
ENDS = {"unsubscribed": "subscribed", "link_lost": "link_gained", "neighbor_down": "neighbor_up"}


def pieces(path: Path) -> list[Path]:
    """The full pieces of a rotated file, oldest first."""
    found = [p for p in path.parent.glob(f"{_escaped(path.name)}.*") if p.name[len(path.name) + 1:].isdecimal()]
    return sorted(found, key=lambda p: int(p.suffix[1:]))


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def rotate(path: Path) -> Path:
    """Make the file its newest piece, whose path is returned."""
    before = pieces(path)
    return path.rename(path.with_name(f"{path.name}.{int(before[-1].suffix[1:]) + 1 if before else 1}"))


def sync_folder(path: Path) -> None:
    """A file that was made, renamed or removed in this folder stays so."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def shrink(path: Path, budget: int, own: int) -> int:
    """Remove the oldest pieces until they take no more than `budget` bytes with the file's `own`; the bytes then
    taken."""
    old = pieces(path)
    sizes = [p.stat().st_size for p in old]
    taken = own + sum(sizes)
    for piece, size in zip(old, sizes, strict=True):
        if taken <= budget:
            break
        piece.unlink()
        taken -= size
    return taken


class Records:
    """JSON Lines, appended. A full disk loses records, counts them and stops nothing."""

    def __init__(self, path: Path | None, node: NodeId) -> None:
        self.lost = 0
        self._node = node
        self._waiting: list[str] = []
        self._file = None
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = path.open("ab+", buffering=0)
                self._cut_torn_line()
            except OSError as error:
                raise DaemonError(f"{path}: {error.strerror}; choose another path for --records") from None

    def append(self, t: float, kind: str, fields: dict[str, object]) -> None:
        if self._file is not None:
            line = {"t": round(t, 6), "node": self._node, "kind": kind, **fields}
            self._waiting.append(json.dumps(line, separators=(",", ":"), ensure_ascii=False))

    async def keep(self) -> None:
        """Called now and then: put what was appended where it is kept."""
        self.flush()

    def flush(self) -> None:
        lines = self._waiting
        if lines:
            self._waiting = []
            self._write(lines)

    def close(self) -> None:
        self.flush()
        if self._file is not None:
            self._file.close()

    def _write(self, lines: list[str]) -> bool:
        """Whether they are written; with an error none of them is."""
        data = ("\n".join(lines) + "\n").encode("utf-8", "replace")
        whole = os.fstat(self._file.fileno()).st_size
        try:
            while data:
                data = data[self._file.write(data):]
        except OSError as error:
            if not self.lost:
                say(f"{self._file.name}: {error.strerror}; records are lost until that is mended")
            self.lost += len(lines)
            with contextlib.suppress(OSError):  # no half a line before the next good one
                self._file.truncate(whole)
            return False
        return True

    def _cut_torn_line(self) -> None:
        """What an earlier life was cut off in the middle of would spoil the line that comes after it."""
        end = size = self._file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(end - 65536, 0)
            self._file.seek(start)
            if (at := self._file.read(end - start).rfind(b"\n")) >= 0:
                end = start + at + 1
                break
            end = start
        if end < size:
            self._file.truncate(end)


class FieldRecords(Records):
    """Records of a node in the field: synced, rotated within `budget` bytes. `journal` is synced along."""

    def __init__(self, path: Path | None, node: NodeId, budget: int | None, journal: Journal | None) -> None:
        super().__init__(path, node)
        self._path, self._budget, self._journal = path, budget, journal
        self._standing: dict[tuple, str] = {}
        self._told = 0  # of the records lost
        self._now = 0.0
        self._synced = True  # nothing was written since
        self._carried = 0  # bytes at the head of this piece that its predecessor holds too
        self._sync = self._file is not None and path.is_file()  # until it fails
        self._slow = False
        if self._file is not None and path.is_file():
            with contextlib.suppress(OSError):
                sync_folder(path.parent)

    def append(self, t: float, kind: str, fields: dict[str, object]) -> None:
        super().append(t, kind, fields)
        self._now = t
        if self._file is None:
            return
        if kind in ENDS:
            began = ENDS[kind]
            self._standing.pop((began, *(fields[name] for name in STANDING[began])), None)
        elif kind in STANDING:
            key = kind, *(fields[name] for name in STANDING[kind])
            self._standing.pop(key, None)
            self._standing[key] = self._waiting[-1]

    async def keep(self) -> None:
        """Write and sync, in a thread: a slow card holds up nobody."""
        if not self._waiting and self._synced and (self._journal is None or self._journal.synced):
            return
        lines, self._waiting = self._waiting, []
        standing = list(self._standing.values())
        await trio.to_thread.run_sync(self._keep, lines, standing)

    def close(self) -> None:
        self._keep(self._waiting, [])
        self._waiting = []
        super().close()

    def _keep(self, lines: list[str], standing: list[str]) -> None:
        if self._file is not None and lines:
            lost = self.lost
            mark = [self._line("records_lost", records=lost - self._told)] if lost > self._told else []
            if self._write(mark + lines):
                self._told = lost
            else:
                self.lost -= len(mark)
            self._synced = False
        if self._budget is not None and standing:
            if self._size() >= max(self._budget // PIECES, 2 * self._carried):
                self._rotate(standing)
        began = time.monotonic()
        if self._sync and not self._synced:
            self._sync_file()
        if self._journal is not None:
            self._journal.sync()
        if (took := time.monotonic() - began) > SLOW and not self._slow and self._file is not None:
            self._slow = True
            say(f"the disk took {took:.1f} s to sync {self._path}: a power cut may cost as much more than "
                "the last second")
            self._write([self._line("slow_sync", seconds=round(took, 3))])

    def _sync_file(self) -> None:
        try:
            os.fsync(self._file.fileno())
            self._synced = True
        except OSError as error:
            self._sync = False
            say(f"{self._path}: cannot be synced ({error.strerror}); a power cut may cost more than the last "
                "second")

    def _size(self) -> int:
        return os.fstat(self._file.fileno()).st_size if self._file is not None and self._path.is_file() else 0

    def _line(self, kind: str, **fields: object) -> str:
        line = {"t": round(self._now, 6), "node": self._node, "kind": kind, **fields}
        return json.dumps(line, separators=(",", ":"))

    def _rotate(self, standing: list[str]) -> None:
        """Begin a new piece with what still stands, and remove what the budget has no room for."""
        try:
            self._sync_file()
            piece = rotate(self._path)
            try:
                fresh = self._path.open("ab+", buffering=0)
            except OSError:
                piece.rename(self._path)  # and on in the old one
                raise
            self._file.close()
            self._file, number = fresh, int(piece.suffix[1:]) + 1
            self._write([self._line("continued", piece=number, carried=len(standing)), *standing])
            self._synced, self._carried = False, self._size()
            shrink(self._path, self._budget - self._budget // PIECES, self._size())
            sync_folder(self._path.parent)
        except OSError as error:
            say(f"{self._path}: cannot be rotated ({error.strerror}); it goes on beyond its part of the disk "
                "budget")
            self._budget = None


class Journal:
    """The journal of one life, each line written at once. It ends at the first line that cannot be written or that
    its budget has no room for: with a gap it would not replay."""

    def __init__(self, path: Path, budget: int | None = None) -> None:
        """Raises DaemonError when there can be none."""
        self._path, self._budget = path, budget
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if budget is not None and path.is_file() and path.stat().st_size:
                rotate(path)
                shrink(path, budget // 2, 0)  # this life has at least half
            self._file = open_journal(path)
            with contextlib.suppress(OSError):
                sync_folder(path.parent)
        except OSError as error:
            raise DaemonError(f"{path}: {error.strerror}; choose another path for --journal") from None
        self._taken = sum(p.stat().st_size for p in [*pieces(path), path] if p.is_file())
        self._written = 0
        self.synced = True

    def write(self, text: str) -> None:
        if self._file is None:
            return
        size = len(text) if text.isascii() else len(text.encode())
        self._taken += size
        self._written += size
        try:
            if self._budget is not None and self._taken > self._budget:
                self._taken = shrink(self._path, self._budget, self._written)
                if self._taken > self._budget:
                    self._end("its part of the disk budget is used up")
                    return
            self._file.write(text)
            self.synced = False
        except OSError as error:
            self._end(error.strerror)

    @property
    def ended(self) -> bool:
        """Whether nothing more is written."""
        return self._file is None

    def sync(self) -> None:
        """What was written is on the disk when this returns; called from a thread."""
        file = self._file
        if file is not None and not self.synced:
            self.synced = True
            with contextlib.suppress(OSError, ValueError):  # not every file can; it may have ended meanwhile
                os.fsync(file.fileno())

    def close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _end(self, why: str) -> None:
        say(f"{self._path}: {why}; the journal ends here, the node goes on")
        self.close()
