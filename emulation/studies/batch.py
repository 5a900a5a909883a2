"""Many runs of one simulator, asked for by lines of JSON: `--batch` of `roamcast run` and `roamcast reproduce overlay`."""
from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from emulation.studies import results
from emulation.studies.overlay import OverlayError
from emulation.studies.simulators import Simulator, result_of

_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")  # the stem of a file in the folder, and nowhere else


def batch(lines: Iterable[str], out: Path, simulator: Simulator) -> int:
    """Do the run of each line, a JSON object {"key": file stem, "parameters": {...}}, and write out/KEY.json; prints a
    line `begins KEY` and `ended KEY` for each. A run that fails leaves {"failed": why}. Stops when the process
    that started this one is gone. Returns how many failed. All lines are read first: OverlayError for one that will not do,
    and nothing has been run."""
    parent, failed = os.getppid(), 0
    for key, values in _read(lines).items():
        print(f"begins {key}", flush=True)
        result = result_of(simulator, values)
        failed += "failed" in result
        results.keep(out / f"{key}.json", result | {"key": key})
        print(f"ended {key}", flush=True)
        if os.getppid() != parent:
            break
    return failed


def _read(lines: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The runs by their keys, in the order of the lines; empty lines are passed over."""
    found: dict[str, dict[str, Any]] = {}
    number = 0
    try:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                given = json.loads(line, object_pairs_hook=lambda pairs: _once(number, pairs))
                key, values = given["key"], dict(given["parameters"])
            except OverlayError:
                raise
            except (ValueError, KeyError, TypeError, RecursionError):
                raise OverlayError(f"line {number}: not a JSON object with key and parameters: {line[:60]!r}") from None
            if more := [name for name in given if name not in ("key", "parameters")]:
                raise OverlayError(f"line {number}: found {more[0][:60]!r} beside key and parameters; put what a run takes into "
                                   "parameters")
            if not isinstance(key, str) or not _KEY.fullmatch(key):
                raise OverlayError(f"line {number}: key: found {str(key)[:60]!r}; give a file name without a folder: up to "
                                   "100 letters, digits, _, . and -")
            if key in found:
                raise OverlayError(f"line {number}: key: found {key!r} again; give each run its own, which names the result")
            found[key] = values
    except UnicodeDecodeError:
        raise OverlayError(f"line {number + 1}: not UTF-8 text; give one line of JSON per run") from None
    return found


def _once(number: int, pairs: list[tuple[str, object]]) -> dict[str, Any]:
    """An object of JSON, which takes a name twice without a word. Raises OverlayError."""
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise OverlayError(f"line {number}: found {name[:60]!r} twice; give it once")
        found[name] = value
    return found
