"""The files of a node: its records and the journal of its inputs, within a disk budget, safe from power cuts.

Records are written and synced to disk every half second. A line of the journal is written at once and synced with
them. So a power cut loses at most the last second, as long as the disk syncs within half a second; if it does not, the
node says so. A publication or delivery is written (`flush`) before its program learns of it, so killing the node loses
none; it is on disk when `synced` returns, and all who wait for that share one sync. The node writes, a thread syncs, so
a slow card delays nobody. If the disk is full, lines are lost; the node says so once and continues.

A full file of records becomes a piece `NAME.1`, `NAME.2`, ... and a new file begins, with a record `continued` and the
current state (this life, its subscriptions, links, neighbors), so that the oldest pieces can be deleted. A journal
cannot be cut within a life, or it would not replay: pieces of earlier lives are deleted first, and then it ends.
"""
from __future__ import annotations

import contextlib
import json
import os
import time
from io import FileIO
from pathlib import Path
from typing import BinaryIO, TextIO

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
    """Make the file its newest piece and return that path."""
    before = pieces(path)
    return path.rename(path.with_name(f"{path.name}.{int(before[-1].suffix[1:]) + 1 if before else 1}"))


def sync_folder(path: Path) -> None:
    """Sync a folder, so that created, renamed and removed files stay so."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def shrink(path: Path, budget: int, own: int) -> int:
    """Remove the oldest pieces until they fit `budget` bytes together with the file's `own`. Returns the bytes in
    use."""
    old = pieces(path)
    sizes = [p.stat().st_size for p in old]
    taken = own + sum(sizes)
    for piece, size in zip(old, sizes, strict=True):
        if taken <= budget:
            break
        piece.unlink()
        taken -= size
    return taken


class _Sync:
    """One sync of the disk, for all who wait for it."""

    def __init__(self) -> None:
        self.done = trio.Event()
        self.wanted = self.worked = False


class Records:
    """JSON Lines, appended. A full disk loses records, counts them and stops nothing."""

    def __init__(self, path: Path | None, node: NodeId) -> None:
        self.lost = 0
        self.kept = path is not None  # whether there is a file at all
        self._node = node
        self._waiting: list[str] = []
        self._file: FileIO | None = None
        self._wanted = trio.Event()  # somebody waits for the next sync
        self._next = _Sync()
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = path.open("ab+", buffering=0)
                self._cut_torn_line()
            except OSError as error:
                raise DaemonError(f"{path}: {error.strerror}; give another path for --records") from None

    @property
    def _disk(self) -> FileIO:
        assert self._file is not None  # lines are kept
        return self._file

    def append(self, t: float, kind: str, fields: dict[str, object]) -> None:
        if self._file is not None:
            line = {"t": round(t, 6), "node": self._node, "kind": kind, **fields}
            self._waiting.append(json.dumps(line, separators=(",", ":"), ensure_ascii=False))

    def flush(self) -> bool:
        """Write what was appended to the operating system, which keeps it even if this process is killed. Returns whether
        all of it was written."""
        lines = self._waiting
        if not lines:
            return True
        self._waiting = []
        return self._write(lines)

    async def synced(self) -> bool:
        """Wait until everything appended so far is on disk. Returns False if it will not be."""
        if not self.flush() or self._file is None:
            return False
        sync = self._next
        sync.wanted = True
        self._wanted.set()
        await sync.done.wait()
        return sync.worked

    async def keep_often(self, pause: float) -> None:
        """Keep what is appended: after each pause (s), and when somebody waits for it."""
        try:
            while True:
                with trio.move_on_after(pause):
                    await self._wanted.wait()
                self._wanted = trio.Event()
                sync, self._next = self._next, _Sync()
                try:
                    sync.worked = await self.keep(sync.wanted)
                finally:
                    sync.done.set()
        finally:
            self.flush()

    async def keep(self, wanted: bool = False) -> bool:
        """Write, and sync in a thread if `wanted`. Returns whether what was written is on disk."""
        self.flush()
        return wanted and await trio.to_thread.run_sync(self._sync_file)

    def _sync_file(self) -> bool:
        try:
            os.fsync(self._disk.fileno())
        except OSError:
            return False
        return True

    def close(self) -> None:
        self.flush()
        if self._file is not None:
            self._file.close()

    def _write(self, lines: list[str]) -> bool:
        """Whether they are written; with an error none of them is."""
        data = ("\n".join(lines) + "\n").encode("utf-8", "replace")
        whole = os.fstat(self._disk.fileno()).st_size
        try:
            while data:
                data = data[self._disk.write(data):]
        except OSError as error:
            if not self.lost:
                say(f"{self._disk.name}: {error.strerror}; records are lost until this is fixed")
            self.lost += len(lines)
            with contextlib.suppress(OSError):  # no half a line before the next good one
                self._disk.truncate(whole)
            return False
        return True

    def _cut_torn_line(self) -> None:
        """What an earlier life was cut off in the middle of would spoil the line that comes after it."""
        end = size = self._disk.seek(0, os.SEEK_END)
        while end > 0:
            start = max(end - 65536, 0)
            self._disk.seek(start)
            if (at := self._disk.read(end - start).rfind(b"\n")) >= 0:
                end = start + at + 1
                break
            end = start
        if end < size:
            self._disk.truncate(end)


class FieldRecords(Records):
    """Records of a node in the field: synced, and rotated within `budget` bytes. Also syncs `journal`."""

    def __init__(self, path: Path | None, node: NodeId, budget: int | None, journal: Journal | None) -> None:
        super().__init__(path, node)
        self._path, self._budget, self._journal = path or Path(), budget, journal  # there is no file without a path
        self._standing: dict[tuple[object, ...], str] = {}
        self._told = 0  # of the records lost
        self._now = 0.0
        self._synced = True  # nothing was written since
        self._carried = 0  # bytes at the head of this piece that its predecessor holds too
        self._sync = self._file is not None and self._path.is_file()  # until it fails
        self._slow = False
        if self._sync:
            with contextlib.suppress(OSError):
                sync_folder(self._path.parent)

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

    def flush(self) -> bool:
        lines, self._waiting = self._waiting, []
        if self._file is None or not lines:
            return True
        lost = self.lost
        if lost > self._told:  # at the time of the first record behind the gap
            lines.insert(0, self._line("records_lost", json.loads(lines[0])["t"], records=lost - self._told))
        self._synced = False
        if self._write(lines):
            self._told = lost
            return True
        self.lost -= lost > self._told
        return False

    async def keep(self, wanted: bool = True) -> bool:
        """Write, and sync in a thread, `wanted` or not. Returns whether all that was written is on disk."""
        self.flush()
        if self._synced and (self._journal is None or self._journal.synced):
            return self._sync or self._file is None
        full = None
        if self._budget is not None and self._standing and self._size() >= max(self._budget // PIECES, 2 * self._carried):
            full = self._rotate(list(self._standing.values()))
        return await trio.to_thread.run_sync(self._sync_all, full)

    def close(self) -> None:
        self.flush()
        self._sync_all(None)
        super().close()

    def _sync_all(self, full: BinaryIO | None) -> bool:
        """Records and journal on the disk, and the piece that was just filled. Called from a thread."""
        began = time.monotonic()
        if full is not None:
            with contextlib.suppress(OSError), full:
                os.fsync(full.fileno())
            self._make_room()
        worked = self._sync
        if self._sync and not self._synced:
            worked = self._sync_file()
        if self._journal is not None:
            self._journal.sync()
        if (took := time.monotonic() - began) > SLOW and not self._slow and self._file is not None:
            self._slow = True
            say(f"the disk took {took:.1f} s to sync {self._path}: a power cut may lose that much more than "
                "the last second")
            self._waiting.append(self._line("slow_sync", self._now, seconds=round(took, 3)))
        return worked

    def _sync_file(self) -> bool:
        self._synced = True  # what is written meanwhile says otherwise
        try:
            os.fsync(self._disk.fileno())
        except OSError as error:
            self._sync = self._synced = False
            say(f"{self._path}: cannot be synced ({error.strerror}); a power cut may lose more than the last "
                "second")
        return self._sync

    def _size(self) -> int:
        return os.fstat(self._disk.fileno()).st_size if self._file is not None and self._path.is_file() else 0

    def _line(self, kind: str, t: float, **fields: object) -> str:
        line = {"t": round(t, 6), "node": self._node, "kind": kind, **fields}
        return json.dumps(line, separators=(",", ":"))

    def _rotate(self, standing: list[str]) -> BinaryIO | None:
        """Begin a new piece with what still stands; the full one, to be synced and closed."""
        try:
            piece = rotate(self._path)
            try:
                fresh = self._path.open("ab+", buffering=0)
            except OSError:
                piece.rename(self._path)  # and on in the old one
                raise
        except OSError as error:
            self._no_more_pieces(error)
            return None
        full, self._file = self._file, fresh
        self._write([self._line("continued", self._now, piece=int(piece.suffix[1:]) + 1, carried=len(standing)), *standing])
        self._synced, self._carried = False, self._size()
        return full

    def _make_room(self) -> None:
        """Remove what the budget has no room for."""
        if (budget := self._budget) is None:
            return
        try:
            shrink(self._path, budget - budget // PIECES, self._size())
            sync_folder(self._path.parent)
        except OSError as error:
            self._no_more_pieces(error)

    def _no_more_pieces(self, error: OSError) -> None:
        say(f"{self._path}: cannot be rotated ({error.strerror}); it will exceed its part of the disk "
            "budget")
        self._budget = None


class Journal:
    """The journal of one life; each line is written at once. It ends at the first line that cannot be written or
    does not fit the budget, because with a gap it would not replay."""

    def __init__(self, path: Path, budget: int | None = None) -> None:
        """Raises DaemonError if it cannot be opened."""
        self._path, self._budget = path, budget
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if budget is not None and path.is_file() and path.stat().st_size:
                rotate(path)
                shrink(path, budget // 2, 0)  # this life has at least half
            self._file: TextIO | None = open_journal(path)
            with contextlib.suppress(OSError):
                sync_folder(path.parent)
        except OSError as error:
            raise DaemonError(f"{path}: {error.strerror}; give another path for --journal") from None
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
            self._end(error.strerror or str(error))

    @property
    def ended(self) -> bool:
        """Whether the journal has ended."""
        return self._file is None

    def sync(self) -> None:
        """Sync what was written to disk; called from a thread."""
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
        say(f"{self._path}: {why}; the journal ends here, the node continues")
        self.close()
