"""Pages: templates with their style and scripts inside, so that each is one file that opens offline."""
from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import jinja2

from analysis.errors import AnalysisError
from analysis.summary import seconds
from mobility.wholefile import write_whole

_TEMPLATES = Path(__file__).parent / "templates"


def write(path: Path, template: str, scripts: Sequence[str], **values: object) -> None:
    """Write a page. Raises AnalysisError."""
    try:
        write_whole(path, text(template, scripts, **values))
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be written: {error.strerror}") from None


def text(template: str, scripts: Sequence[str], **values: object) -> str:
    """A page; `style` and `script` are what the files beside the template say."""
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"percent": percent, "time": time, "number": number, "json": as_json}
    return environment.get_template(template).render(
        style=(_TEMPLATES / "report.css").read_text(), script="".join((_TEMPLATES / name).read_text() for name in scripts), **values)


def as_json(found: object) -> str:
    """As a script element holds it: nothing in it ends the element."""
    return json.dumps(found, separators=(",", ":")).replace("<", "\\u003c")


def percent(x: float) -> str:
    return "–" if math.isnan(x) else f"{100 * x:.1f}\u00a0%"


def time(x: float | None) -> str:
    if x is None or math.isnan(x):
        return "–"
    return seconds(x).replace(" ", "\u00a0")


def number(x: float | None, digits: int = 0) -> str:
    return "–" if x is None or math.isnan(x) else f"{x:,.{digits}f}"
