"""Many runs of one simulator, asked for by lines of JSON: `--batch` of `roamcast run` and `roamcast reproduce overlay`."""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from emulation.studies import engine, results
from emulation.studies.overlay import OverlayError
from emulation.studies.simulators import done

_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")  # the stem of a file in the folder, and nowhere else


def batch(lines: Iterable[str], out: Path, simulator: str, say: Callable[[str], None] = lambda note: None,
          at_once: int | None = None) -> int:
    """Do the run of each line, a JSON object {"key": file stem, "parameters": {...}}, and write out/KEY.json; prints a line
    `ended KEY` for each. A run that fails leaves {"failed": why}; `say` hears each note on a scenario once. Returns how many
    failed. All lines are read first: OverlayError for one that will not do, and nothing has been run."""
    todo = [{"key": key, "parameters": values} for key, values in _read(lines).items()]
    failed, noted = 0, set[str]()

    def keep(given: dict[str, Any], result: dict[str, Any]) -> None:
        nonlocal failed
        failed += "failed" in result
        for note in result.get("notes", ()):
            if note not in noted:
                noted.add(note)
                say(note)
        results.keep(out / f"{given['key']}.json", result | {"key": given["key"]})
        print(f"ended {given['key']}", flush=True)

    engine.work(partial(_done, simulator), todo, keep, at_once)
    return failed


def _done(simulator: str, given: dict[str, Any]) -> dict[str, Any]:
    return done(given["parameters"], simulator)


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
