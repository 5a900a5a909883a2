"""Trace files by format: which formats exist, and which one a file's name indicates."""

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
    """Read a trace; without `format`, its name decides. `options` go to the format's reader.

    Raises TraceError ("file:line: ..."). If the file has another format that is known, the error names it.
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
    """Write a trace, gzipped if its name ends in .gz. Raises TraceError if the format cannot express the movement."""
    path = Path(path)
    FORMATS[_format(path, format)].write(movement, path)


def format_of(path: Path | str) -> str | None:
    """The format that a file's name indicates (.movements, .ns_movements, .tcl, ...), or None."""
    name = Path(path).name.lower().removesuffix(".gz")
    return next((format for ending, format in _ENDINGS.items() if name.endswith(ending)), None)


def looks_like(path: Path | str) -> tuple[str, str] | None:
    """(what a file seems to be, what to do with it) for a known format that its name does not indicate."""
    return lookalikes.of_file(Path(path))


def _format(path: Path, format: str | None) -> str:
    chosen = format or format_of(path)
    if chosen in FORMATS:
        return chosen
    known = " or ".join(f'"{name}"' for name in FORMATS)
    if not format and (found := lookalikes.of_file(path)):
        raise TraceError(path, None, f"looks like {found[0]}; {found[1]}")
    said = f'found format "{format}"' if format else "the name does not indicate the format"
    raise TraceError(path, None, f"{said}; give {known}")
