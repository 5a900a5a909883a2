"""Trace files by format: which formats there are, and which one a file's name tells."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from mobility import bonnmotion, lookalikes, ns2
from mobility.movement import Movement
from mobility.textfile import NotUnderstood, TraceError

# A format is a module with `read(path) -> Movement`, `write(movement, path)`, and ENDINGS, the ends of its files' names.
FORMATS: dict[str, ModuleType] = {"bonnmotion": bonnmotion, "ns2": ns2}
OPTIONS = {"dimensions": ("bonnmotion", (2, 3)), "zero_speed": ("ns2", ("stop", "jump"))}  # of which reader, and values
_ENDINGS: dict[str, str] = {ending: name for name, module in FORMATS.items() for ending in module.ENDINGS}


def read(path: Path | str, format: str | None = None, **options: object) -> Movement:
    """Read a trace; without `format` its name decides. `options` are those of the format's reader.

    Raises TraceError ("file:line: ..."), which names the format of a file that is of another one.
    """
    path = Path(path)
    chosen = _format(path, format)
    try:
        movement: Movement = FORMATS[chosen].read(path, **options)
        return movement
    except NotUnderstood as error:
        if found := lookalikes.of_file(path, chosen):
            raise TraceError(path, error.line, f"looks like {found[0]}; {found[1]}") from None
        raise


def write(movement: Movement, path: Path | str, format: str | None = None) -> None:
    """Write a trace, gzipped if its name ends in .gz; raises TraceError for what it cannot say."""
    path = Path(path)
    FORMATS[_format(path, format)].write(movement, path)


def format_of(path: Path | str) -> str | None:
    """The format that a file's name tells, or None: .movements, .ns_movements, .tcl, ..."""
    name = Path(path).name.lower().removesuffix(".gz")
    return next((format for ending, format in _ENDINGS.items() if name.endswith(ending)), None)


def looks_like(path: Path | str) -> tuple[str, str] | None:
    """(what a file seems to be, what to do with it) for a format that is known and not told by its name."""
    return lookalikes.of_file(Path(path))


def _format(path: Path, format: str | None) -> str:
    chosen = format or format_of(path)
    if chosen in FORMATS:
        return chosen
    known = " or ".join(f'"{name}"' for name in FORMATS)
    if not format and (found := lookalikes.of_file(path)):
        raise TraceError(path, None, f"looks like {found[0]}; {found[1]}")
    said = f'format "{format}"' if format else "a name that does not tell the format"
    raise TraceError(path, None, f"{said}; give {known}")
