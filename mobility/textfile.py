"""Trace files as lines of text, gzipped or not, and the error that names file and line."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

MOST_BYTES = 1 << 29  # of a trace, unpacked: some 20 million waypoints
FARTHEST = 1e12  # of times (s) and coordinates (m): sums and squares of them are still numbers


class TraceError(Exception):
    """A trace that cannot be read or written: "file:line: what was found; what would do"."""

    def __init__(self, path: Path | str, line: int | None, problem: str) -> None:
        self.path, self.line, self.problem = Path(path), line, problem
        super().__init__(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")


def read_lines(path: Path) -> list[str]:
    """The lines of a file without their ends (LF, CRLF or CR); unpacks gzip whatever its name."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a pipe would wait, a device never end
            raise TraceError(path, None, "not a file; give a trace file")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise TraceError(path, None, "no such file; check the name") from None
    except OSError as error:
        raise TraceError(path, None, f"cannot be read: {error.strerror}; give a trace file") from None
    except ValueError:  # a zero byte in the name
        raise TraceError(path, None, "no name of a file; check it") from None
    if data[:2] == b"\x1f\x8b":
        try:
            with gzip.open(io.BytesIO(data)) as file:
                data = file.read(MOST_BYTES + 1)
        except (OSError, EOFError, zlib.error):
            raise TraceError(path, None, "a damaged gzip file; fetch or make it again") from None
    if len(data) > MOST_BYTES:
        raise TraceError(path, None, f"more than {MOST_BYTES >> 20} MiB of text; cut it into parts")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TraceError(path, None, "not a text file; give a BonnMotion or ns-2 trace") from None
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def write_text(path: Path, text: str) -> None:
    """Write UTF-8; gzipped, and the same bytes every time, if the name ends in .gz."""
    data = text.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, compresslevel=6, mtime=0)
    try:
        path.write_bytes(data)
    except OSError as error:
        raise TraceError(path, None, f"cannot be written: {error.strerror}") from error


def base_name(path: Path, *endings: str) -> str:
    """The file's name without .gz and without the first of `endings` that fits."""
    name = path.name.removesuffix(".gz")
    for ending in endings:
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name
