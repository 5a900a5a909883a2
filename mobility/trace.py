"""Trace files by format: which formats there are, and which one a file's name tells."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from mobility import bonnmotion, ns2
from mobility.movement import Movement
from mobility.textfile import TraceError

FORMATS: dict[str, ModuleType] = {"bonnmotion": bonnmotion, "ns2": ns2}
_ENDINGS = {
    ".movements": "bonnmotion",
    ".ns_movements": "ns2",
    ".ns2": "ns2",
    ".tcl": "ns2",
    ".scen": "ns2",
    ".setdest": "ns2",
}


def read(path: Path | str, format: str | None = None) -> Movement:
    """Read a trace; without `format` its name decides. Raises TraceError ("file:line: ...")."""
    path = Path(path)
    return FORMATS[_format(path, format)].read(path)


def write(movement: Movement, path: Path | str, format: str | None = None) -> None:
    """Write a trace, gzipped if its name ends in .gz; raises TraceError for what it cannot say."""
    path = Path(path)
    FORMATS[_format(path, format)].write(movement, path)


def format_of(path: Path | str) -> str | None:
    """The format that a file's name tells, or None: .movements, .ns_movements, .tcl, ..."""
    name = Path(path).name.lower().removesuffix(".gz")
    return next((format for ending, format in _ENDINGS.items() if name.endswith(ending)), None)


def _format(path: Path, format: str | None) -> str:
    chosen = format or format_of(path)
    if chosen in FORMATS:
        return chosen
    known = " or ".join(f'"{name}"' for name in FORMATS)
    found = f'format "{format}"' if format else "a name that does not tell the format"
    raise TraceError(path, None, f"{found}; give {known}")
