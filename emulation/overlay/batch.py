"""Many runs in one process, each result in a file of its own that tells when it was damaged.

Of the overlay, or of any other `run` (cli/measure.py).

A sweep (analysis/reproduction) starts this as a subprocess, to save the start-up per run. A result file is
one line `roamcast-overlay 1 SHA256`, then what run() returned as JSON, of which SHA256 is the digest, with the
`key` that names the file. It appears whole or not at all.
"""
from __future__ import annotations

import hashlib
import json
import os
import re
import signal
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import ModuleType

import emulation.overlay
import node
from emulation.overlay.parameters import OverlayError, Parameters
from emulation.overlay.run import run
from mobility.wholefile import write_whole

MAGIC = "roamcast-overlay 1"
LONGEST = 1800  # s that one run may take; then the process is ended by SIGALRM
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")  # the stem of a file in the folder, and nowhere else


def overlay(values: dict) -> dict:
    """One run of the overlay with these parameters. Raises OverlayError, network.Storm."""
    return run(Parameters.of(values))


def batch(lines: Iterable[str], out: Path, one: Callable[[dict], dict] = overlay,
          rooms: Iterable[ModuleType] = (node, emulation.overlay)) -> int:
    """Do `one` of each line, a JSON object {"key": file stem, "parameters": {...}}, and write out/KEY.json; prints a
    line `begins KEY` and `ended KEY` for each. A run that fails leaves {"failed": why}. Stops when the process
    that started this one is gone. `rooms`: packages whose code decides the results. Returns how many failed. All lines
    are read first: OverlayError for one that will not do, and nothing has been run."""
    parent, failed, version = os.getppid(), 0, code(tuple(rooms))
    for key, values in _read(lines).items():
        print(f"begins {key}", flush=True)
        signal.alarm(LONGEST)
        try:
            result = one(values)
        except Exception as error:  # one run's fault is not the next one's
            result = {"parameters": values, "failed": f"{type(error).__name__}: {error}"}
            failed += 1
        signal.alarm(0)
        keep(out / f"{key}.json", result | {"key": key, "code": version})
        print(f"ended {key}", flush=True)
        if os.getppid() != parent:
            break
    return failed


def _read(lines: Iterable[str]) -> dict[str, dict]:
    """The runs by their keys, in the order of the lines; empty lines are passed over."""
    found: dict[str, dict] = {}
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
                raise OverlayError(f"line {number}: no JSON object with key and parameters: {line[:60]!r}") from None
            if more := [name for name in given if name not in ("key", "parameters")]:
                raise OverlayError(f"line {number}: found {more[0][:60]!r} beside key and parameters; what a run is given stands "
                                   "in parameters")
            if not isinstance(key, str) or not _KEY.fullmatch(key):
                raise OverlayError(f"line {number}: key: found {str(key)[:60]!r}; the name of a file without a folder: up "
                                   "to 100 letters, digits, _, . and -")
            if key in found:
                raise OverlayError(f"line {number}: key: found {key!r} again; one for each run, as it names the result")
            found[key] = values
    except UnicodeDecodeError:
        raise OverlayError(f"line {number + 1}: not text in UTF-8; give a line of JSON a run") from None
    return found


def _once(number: int, pairs: list[tuple[str, object]]) -> dict:
    """An object of JSON, which takes a name twice without a word. Raises OverlayError."""
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise OverlayError(f"line {number}: found {name[:60]!r} twice; one of them")
        found[name] = value
    return found


def keep(path: Path, result: dict) -> None:
    """Raises OSError, which names the file."""
    body = json.dumps(result, separators=(",", ":"))
    digest = hashlib.sha256(body.encode()).hexdigest()
    write_whole(path, f"{MAGIC} {digest}\n{body}\n")


@cache
def code(rooms: tuple[ModuleType, ...]) -> str:
    """A digest of the code of these packages, which decides a result, so that results of different versions can be told apart."""
    found = hashlib.sha256()
    for package in rooms:
        for path in sorted(Path(package.__file__).parent.rglob("*")):
            if path.suffix in (".py", ".toml"):
                found.update(path.read_bytes())
    return found.hexdigest()[:12]
