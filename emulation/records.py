"""Records of a run as JSON Lines, append-only, written in large pieces.

A file is opened only while a piece is written, so that a run may have more hosts than a process
may have open files. When the disk is full the writer says so once and for all: what was written
stays, and a torn last line is what readers of these files tolerate.
"""
from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]  # typeshed has only what is public
from pathlib import Path
from typing import Any, Protocol

PIECE = 1 << 16  # bytes held back per file

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class DiskFull(Exception):
    """The disk, the quota or the file size limit is used up; str() names the file."""


def is_full(error: OSError) -> bool:
    """Whether an error means that no more fits: the disk, the quota, the file size limit."""
    return error.errno in _FULL


class Flushable(Protocol):
    """What holds back what is to be written."""

    def flush(self) -> None:
        """Write it out. Raises DiskFull."""
CUT = "captures.cut"  # in a run directory, while the run goes on: names of the captures that reached their cap, a line each


class AppendOnly:
    """A file that only grows; `append` collects, `flush` writes. Raises DiskFull."""

    def __init__(self, path: Path, head: bytes = b"", most: int | None = None) -> None:
        """`most`: bytes, past which nothing more is written; the folder's parent then has a file CUT that names this one."""
        self.path = path
        self._left = most
        self.pieces: list[bytes] = [head] if head else []  # not written yet
        self._size = 0
        self._full = False
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))  # no link either
        except OSError as error:
            if is_full(error):
                raise DiskFull(f"{path.name}: {error.strerror}") from None
            raise

    def append(self, piece: bytes) -> None:
        self.pieces.append(piece)
        self._size += len(piece)
        if self._size >= PIECE:
            self.flush()

    def write(self, text: str) -> None:
        """Append text, for what writes lines to a stream."""
        self.append(text.encode())

    def _again(self) -> int:
        """The file, opened once more. What took its place meanwhile, a symbolic link to another for instance, is not written."""
        try:
            return os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise OSError(errno.ELOOP, "replaced by a symbolic link, which is not followed", str(self.path)) from None

    def flush(self) -> None:
        """Write what was collected. After DiskFull nothing more is ever written."""
        if self._left is not None:
            self._cap()
        data = memoryview(b"".join(self.pieces))
        self.pieces.clear()
        self._size = 0
        if self._full or not data:
            return
        try:
            with open(self._again(), "ab", buffering=0) as file:
                while data:
                    data = data[file.write(data):]
        except OSError as error:
            if not is_full(error):
                raise
            self._full = True
            raise DiskFull(f"{self.path.name}: {error.strerror}") from None

    def _cap(self) -> None:
        """Leave out the first piece that finds no room, and all later ones: a piece is a whole frame."""
        assert self._left is not None
        for k, piece in enumerate(self.pieces):
            if len(piece) > self._left:
                del self.pieces[k:]
                if self._left >= 0:
                    with open(self.path.parent.parent / CUT, "a") as file:
                        file.write(f"{self.path.name}\n")
                self._left = -1
                return
            self._left -= len(piece)


def flush_all(files: Iterable[Flushable]) -> None:
    """Flush all of these; the first DiskFull is raised when every one has had its turn."""
    full = None
    for file in files:
        try:
            file.flush()
        except DiskFull as error:
            full = full or error
    if full is not None:
        raise full


def _encoder() -> Callable[[object], str]:
    """json.dumps with compact separators, its C encoder made once instead of once a call."""
    if c_make_encoder is None:
        return json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False).encode
    encode = c_make_encoder(None, _refuse, encode_basestring, None, ":", ",", False, False, False)
    return lambda value: "".join(encode(value, 0))


def _refuse(value: object) -> object:
    raise TypeError(f"a record cannot hold a {type(value).__name__}")


class RecordWriter:
    """The records of one node (or of the world, node -1), kinds as in node/schema/records.toml."""

    def __init__(self, path: Path, node: int, now: Callable[[], float]) -> None:
        self._file = AppendOnly(path)
        self._node = node
        self._now = now
        self._encode = _encoder()

    def record(self, kind: str, **fields: object) -> None:
        """Append one line: t (s, to the microsecond), node, kind and the fields."""
        line = {"t": round(self._now(), 6), "node": self._node, "kind": kind, **fields}
        self._file.append((self._encode(line) + "\n").encode())

    def flush(self) -> None:
        self._file.flush()


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file in order; a last line that was torn is left out."""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)
