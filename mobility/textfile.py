"""Trace files as lines of text, gzipped or not, and the error that names file and line.

Files are read as streams within bounds, so neither a file of gigabytes nor a small one that unpacks to
gigabytes exhausts memory.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mobility.wholefile import write_whole

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

MOST_BYTES = 1 << 29  # of a trace, unpacked: some 20 million waypoints
MOST_LINE = 1 << 24  # characters of one line: a week of one node's places, one a second
MOST_RATIO = 20  # unpacked to packed; traces have 2 to 10
ALWAYS_UNPACKED = 1 << 23  # bytes that may be unpacked whatever the ratio
FARTHEST = 1e12  # of times (s) and coordinates (m): sums and squares of them are still numbers
MOST_NODES = 100_000  # of a trace
# what str.splitlines ends a line at, besides the ends that every program knows
_BREAKS = {"\x0b": "a vertical tab", "\x0c": "a form feed", "\x1c": "a file separator (U+001C)", "\x1d": "a group separator (U+001D)",
           "\x1e": "a record separator (U+001E)", "\x85": "a next line (U+0085)", "\u2028": "a line separator (U+2028)",
           "\u2029": "a paragraph separator (U+2029)"}
# what a packed file that is not gzip begins with
_PACKED = {b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf": "7z"}


class TraceError(Exception):
    """A trace that cannot be read or written: "file:line: what was found; what to do"."""

    def __init__(self, path: Path | str, line: int | None, problem: str) -> None:
        self.path, self.line, self.problem = Path(path), line, problem
        super().__init__(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")


class NotUnderstood(TraceError):
    """A line that does not fit its format: the file may have another format."""


class _Bounded(io.RawIOBase):
    """The unpacked bytes of a file, as far as they stay within the bounds."""

    def __init__(self, path: Path, stream: io.BufferedIOBase, packed: int | None) -> None:
        self._path, self._stream, self._packed, self._read = path, stream, packed, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        try:
            count = self._stream.readinto(buffer)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise TraceError(self._path, None, "damaged gzip file; download or create it again") from None
        self._read += count
        if self._read > MOST_BYTES:
            raise TraceError(self._path, None, f"more than {MOST_BYTES >> 20} MiB of text; split it")
        if self._packed is not None and self._read > max(ALWAYS_UNPACKED, MOST_RATIO * self._packed):
            raise TraceError(
                self._path,
                None,
                f"unpacks to more than {MOST_RATIO} times its size, unlike any trace; "
                "if it is a trace, unpack it first",
            )
        return count


def read_lines(path: Path, doubts: list[str] | None = None) -> Iterator[str]:
    """The lines of a file without their ends (LF, CRLF or CR); unpacks gzip whatever the file's name.

    doubts: gets a sentence if the last line has no end, as in a truncated file, and one if the text has a character
    that ends a line for some programs only. Without `doubts`, such a character is refused.

    Raises TraceError for a file that cannot be read, is not text, or exceeds the bounds above; some lines
    may have been yielded by then.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a pipe would wait, a device never end
            raise TraceError(path, None, "not a file; give a trace file")
        with path.open("rb") as file:
            yield from _lines(path, file, doubts)
    except FileNotFoundError:
        raise TraceError(path, None, "no such file; check the name") from None
    except OSError as error:
        raise TraceError(path, None, f"cannot be read: {error.strerror}; give a trace file") from None
    except UnicodeDecodeError:
        raise TraceError(
            path, None, "not a UTF-8 text file; give a BonnMotion or ns-2 trace, saved as UTF-8"
        ) from None
    except ValueError:  # a zero byte in the name
        raise TraceError(path, None, "not a valid file name; check it") from None


def _lines(path: Path, file: io.BufferedReader, doubts: list[str] | None) -> Iterator[str]:
    head = file.peek(6)[:6]
    for magic, name in _PACKED.items():
        if head.startswith(magic):
            raise TraceError(path, None, f"packed with {name}; unpack it, or use gzip")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise TraceError(path, None, "not a UTF-8 text file (it begins like UTF-16); save it as UTF-8")
    if head[:2] == b"\x1f\x8b":
        packed = path.stat().st_size
        raw = _Bounded(path, gzip.GzipFile(fileobj=file), packed)
    else:
        raw = _Bounded(path, file, None)
    text = io.TextIOWrapper(io.BufferedReader(raw, 1 << 16), encoding="utf-8-sig", newline=None)
    number, told = 0, False
    while line := text.readline(MOST_LINE + 1):
        number += 1
        if len(line) > MOST_LINE:
            raise TraceError(
                path, number, f"found a line of more than {MOST_LINE >> 20} MiB; give a trace, whose lines are shorter"
            )
        if doubts is not None and not line.endswith("\n"):
            doubts.append(f"the last line ({number}) has no line end, so the file may be truncated and its last number may lack digits; add a line end if the file is complete")
        line = line.removesuffix("\n")
        parts = line.splitlines()  # faster than a search for each of them
        if line and not told and (len(parts) > 1 or len(parts[0]) < len(line)):
            _tell_break(path, number, line, doubts)
            told = True
        yield line


def _tell_break(path: Path, number: int, line: str, doubts: list[str] | None) -> None:
    """Say that a line holds a character that ends a line for some programs, or refuse it."""
    found = next(name for sign, name in _BREAKS.items() if sign in line)
    if doubts is None:
        raise TraceError(path, number, f"found {found}, which some programs read as a line end; replace it with a line end or a blank")
    doubts.append(f"line {number} contains {found}, which some programs read as a line end, but this reader does not; replace it with a "
                  "line end or a blank")


def write_text(path: Path, text: str) -> None:
    """Write UTF-8; if the name ends in .gz, gzipped with the same bytes every time."""
    data = text.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, compresslevel=6, mtime=0)
    try:
        write_whole(path, data)
    except OSError as error:
        raise TraceError(path, None, f"cannot be written: {error.strerror}") from error


def base_name(path: Path, *endings: str) -> str:
    """The file's name without .gz and without the first of `endings` that fits, whatever its case."""
    name = _without(path.name, ".gz")
    for ending in endings:
        if (rest := _without(name, ending)) != name:
            return rest
    return name


def _without(name: str, ending: str) -> str:
    return name[: -len(ending)] if name.casefold().endswith(ending) else name


def companion(path: Path, ending: str, own: str) -> Path:
    """The file with `ending` (".params") that belongs to a trace whose name ends in `own` (".movements").

    It may also be x.movements.params. For a trace with another name, such as x.txt, it is x.txt.params or x.params,
    whichever exists, else x.params. Raises TraceError for several.
    """
    name, whole = base_name(path, own), base_name(path)
    names = [whole + ending, (Path(name).stem if whole == name else name) + ending]
    return find_beside(path, names) or path.with_name(names[-1])


def find_beside(path: Path, names: Sequence[str]) -> Path | None:
    """The file next to a trace that has one of these names, packed (.gz) or not; None if there is none.

    An exact match comes first; without one, case is ignored, because archives come from systems that ignore it. Raises
    TraceError for several, which may differ.
    """
    wanted = dict.fromkeys((*names, *(name + ".gz" for name in names)))
    there = [name for name in wanted if os.path.isfile(path.with_name(name))]  # False too for a name that cannot be
    if not there:
        folded = {name.casefold() for name in wanted}
        with suppress(OSError, ValueError), os.scandir(path.parent) as entries:
            names = [entry.name for entry in entries if entry.is_file()]
            if not any(name != path.name and name.casefold() == path.name.casefold() for name in names):  # or it may be of that trace
                there = sorted(name for name in names if name.casefold() in folded)
    if len(there) > 1:
        raise TraceError(path, None, f"found both {there[0]} and {there[1]} next to it; keep one of them")
    return path.with_name(there[0]) if there else None
