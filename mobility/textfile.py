"""Trace files as lines of text, gzipped or not, and the error that names file and line.

Read as a stream and bounded in every direction, so that neither a file of gigabytes nor a small one
that unpacks to gigabytes takes the memory of the machine.
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
    """A trace that cannot be read or written: "file:line: what was found; what would do"."""

    def __init__(self, path: Path | str, line: int | None, problem: str) -> None:
        self.path, self.line, self.problem = Path(path), line, problem
        super().__init__(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")


class NotUnderstood(TraceError):
    """A line that does not say what its format has there: the file may be one of another format."""


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
            raise TraceError(self._path, None, "a damaged gzip file; fetch or make it again") from None
        self._read += count
        if self._read > MOST_BYTES:
            raise TraceError(self._path, None, f"more than {MOST_BYTES >> 20} MiB of text; cut it into parts")
        if self._packed is not None and self._read > max(ALWAYS_UNPACKED, MOST_RATIO * self._packed):
            raise TraceError(
                self._path,
                None,
                f"unpacks to more than {MOST_RATIO} times its size, as no trace does; "
                "unpack it yourself if it is in order",
            )
        return count


def read_lines(path: Path, doubts: list[str] | None = None) -> Iterator[str]:
    """The lines of a file without their ends (LF, CRLF or CR); unpacks gzip whatever its name.

    doubts: takes a sentence where the last line has no end, as in a file of which the rest is missing, and one where a
    character stands that ends a line for some programs only. Without it such a character is refused.

    Raises TraceError for what cannot be read, is no text, or is larger than the bounds above; parts of
    the lines may have been given by then.
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
            path, None, "not a text file in UTF-8; give a BonnMotion or ns-2 trace, saved as UTF-8"
        ) from None
    except ValueError:  # a zero byte in the name
        raise TraceError(path, None, "no name of a file; check it") from None


def _lines(path: Path, file: io.BufferedReader, doubts: list[str] | None) -> Iterator[str]:
    head = file.peek(6)[:6]
    for magic, name in _PACKED.items():
        if head.startswith(magic):
            raise TraceError(path, None, f"a packed file ({name}); unpack it, or pack it with gzip")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise TraceError(path, None, "not a text file in UTF-8 (it begins as UTF-16 does); save it as UTF-8")
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
                path, number, f"more than {MOST_LINE >> 20} MiB in one line; a line of a trace is shorter"
            )
        if doubts is not None and not line.endswith("\n"):
            doubts.append(f"its last line ({number}) has no end, so the file may be cut off and its last number may lack digits; add a line end if it is complete")
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
        raise TraceError(path, number, f"{found} in the line, which some programs read as the end of a line; put a line end or a blank there")
    doubts.append(f"line {number} holds {found}, which some programs read as the end of a line and this reader does not; put a line end "
                  "or a blank there")


def write_text(path: Path, text: str) -> None:
    """Write UTF-8; gzipped, and the same bytes every time, if the name ends in .gz."""
    data = text.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, compresslevel=6, mtime=0)
    try:
        write_whole(path, data)
    except OSError as error:
        raise TraceError(path, None, f"cannot be written: {error.strerror}") from error


def base_name(path: Path, *endings: str) -> str:
    """The file's name without .gz and without the first of `endings` that fits, in capitals or not."""
    name = _without(path.name, ".gz")
    for ending in endings:
        if (rest := _without(name, ending)) != name:
            return rest
    return name


def _without(name: str, ending: str) -> str:
    return name[: -len(ending)] if name.casefold().endswith(ending) else name


def companion(path: Path, ending: str, own: str) -> Path:
    """The file `ending` (".params") that belongs to a trace whose name ends in `own` (".movements").

    It may be x.movements.params, too; for a trace of another name, such as x.txt, it may be x.txt.params or x.params: the
    one that is there, else x.params. Raises TraceError for several.
    """
    name, whole = base_name(path, own), base_name(path)
    names = [whole + ending, (Path(name).stem if whole == name else name) + ending]
    return find_beside(path, names) or path.with_name(names[-1])


def find_beside(path: Path, names: Sequence[str]) -> Path | None:
    """The file of one of these names beside a trace, packed (.gz) or not; None without one.

    Capitals count where they are right, and else do not: archives come from systems to which they are the same. Raises
    TraceError for several, which may say different things.
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
        raise TraceError(path, None, f"{there[0]} and {there[1]} beside it, which may both be meant; one of them")
    return path.with_name(there[0]) if there else None
