"""The .ns_params file next to an ns-2 movement file: its duration, its number of nodes and its area.

BonnMotion's NSFile writes `set val(duration) 600.0`, `set val(nn) 50`, `set val(x) 500.0`. Other lines are reported,
so that nobody assumes they were used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mobility import tcl
from mobility.area import outside
from mobility.textfile import TraceError, companion, read_lines

_SET = re.compile(r'set\s+(?:(?:\w+\((\w+)\))|(\w+))\s+(?:"([^"]*)"|\{([^{}]*)\}|(\S+))')
_KNOWN = re.compile(r"set\s+(?:\w+\((?:duration|stop|nn|x|y|z)\)|duration)(?:\s|$)")


@dataclass(slots=True)
class Parameters:
    """What the file says; None or empty for what it does not say."""

    path: Path
    duration: float | None = None  # s
    nodes: tuple[float, int] | None = None  # and the line that says so
    area: dict[int, float] = field(default_factory=dict)  # axis -> m
    ignored: list[int] = field(default_factory=list)  # lines
    idle: bool = False  # the file is there, and nothing of it is read
    other: str = ""  # BonnMotion's own .params, where there are no .ns_params

    def notes(self, low: Sequence[float], high: Sequence[float]) -> list[str]:
        """Sentences about what was ignored, and about an area that does not fit the movement.

        low, high: m, the smallest and largest coordinate of each axis.
        """
        told = [f"hosts reach {'xyz'[axis]} = {farthest:.15g} m, but {self.path.name} next to it says {side:.15g}; check that both are "
                "from one run" for axis, side in self.area.items()
                if axis < len(low) and (farthest := outside(low[axis], high[axis], side)) is not None]
        if self.idle and not self.ignored:
            told.append(f"{self.path.name} next to it is ignored, because it has no line `set val(duration) ..` or `set val(nn) ..`")
        if self.other:
            told.append(f"{self.other} next to it is ignored, because it is for a BonnMotion file; use {self.path.name} for this one")
        if count := len(self.ignored):
            told.append(f"{count} {'lines' if count > 1 else 'line'} of {self.path.name} next to it {'are' if count > 1 else 'is'} ignored "
                        f"(line {self.ignored[0]}); expected `set val(NAME) NUMBER` with duration, stop, nn, x, y or z")
        return told


def read(trace: Path) -> Parameters:
    """Read the file next to a trace, if there is one. Raises TraceError."""
    beside = companion(trace, ".ns_params", ".ns_movements")
    found = Parameters(beside)
    if not beside.is_file():
        other = companion(trace, ".params", ".ns_movements")
        found.other = other.name if other.is_file() else ""
        return found
    for number, line in enumerate(read_lines(beside), 1):
        for command in line.split(";"):
            if not (command := command.strip()):
                continue
            if command.startswith("#"):
                break
            _take(found, number, command)
    found.idle = found.duration is None and found.nodes is None
    return found


def _take(found: Parameters, number: int, command: str) -> None:
    match = _SET.fullmatch(re.sub(r"\s#.*", "", command))
    if match is None:
        if _KNOWN.match(command):
            raise TraceError(found.path, number, f'found "{command[:40]}"; expected `set val(NAME) NUMBER` with one number')
        found.ignored.append(number)
        return
    name = match[1] or match[2]
    if name not in ("duration", "stop", "nn", "x", "y", "z") or match[2] and name != "duration":
        found.ignored.append(number)
        return
    value = tcl.as_number(found.path, number, next(text for text in match.groups()[2:] if text is not None).strip())
    if name in ("x", "y", "z"):
        if (known := found.area.setdefault("xyz".index(name), value)) != value:
            raise TraceError(found.path, number, f"found a second {name}, {value:g} after {known:g}; keep one of them")
    elif name == "nn":
        if found.nodes is not None and found.nodes[0] != value:
            raise TraceError(found.path, number, f"found a second number of nodes, {value:g} after {found.nodes[0]:g}; keep one of them")
        found.nodes = value, number
    else:
        if found.duration not in (None, value):
            raise TraceError(found.path, number, f"found a second duration, {value:g} after {found.duration:g}; keep one of them")
        if value < 0:
            raise TraceError(found.path, number, f"found a duration of {value:g}; expected 0 s or more")
        found.duration = value
