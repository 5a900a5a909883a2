"""Many runs in one process, each result in a file of its own that tells when it was damaged.

Of the overlay, or of any other `run` (cli/measure.py).

A sweep (analysis/reproduction) starts this as a subprocess, to save the start-up per run. A result file is
one line `roamcast-overlay 1 SHA256`, then what run() returned as JSON, of which SHA256 is the digest. It
appears whole or not at all.
"""
from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import ModuleType

import emulation.overlay
import node
from emulation.overlay.parameters import OverlayError, Parameters
from emulation.overlay.run import run

MAGIC = "roamcast-overlay 1"
LONGEST = 1800  # s that one run may take; then the process is ended by SIGALRM


def overlay(values: dict) -> dict:
    """One run of the overlay with these parameters. Raises OverlayError, network.Storm."""
    return run(Parameters.of(values))


def batch(lines: Iterable[str], out: Path, one: Callable[[dict], dict] = overlay,
          rooms: Iterable[ModuleType] = (node, emulation.overlay)) -> int:
    """Do `one` of each line, a JSON object {"key": file stem, "parameters": {...}}, and write out/KEY.json; prints a
    line `begins KEY` and `ended KEY` for each. A run that fails leaves {"failed": why}. Stops when the process
    that started this one is gone. `rooms`: packages whose code decides the results. Returns how many failed; OverlayError for a line that cannot be read."""
    parent, failed, version = os.getppid(), 0, code(tuple(rooms))
    for number, line in enumerate(lines, 1):
        try:
            given = json.loads(line)
            key, values = str(given["key"]), dict(given["parameters"])
        except (ValueError, KeyError, TypeError):
            raise OverlayError(f"line {number}: no JSON object with key and parameters: {line[:60]!r}") from None
        print(f"begins {key}", flush=True)
        signal.alarm(LONGEST)
        try:
            result = one(values)
        except Exception as error:  # one run's fault is not the next one's
            result = {"parameters": values, "failed": f"{type(error).__name__}: {error}"}
            failed += 1
        signal.alarm(0)
        keep(out / f"{key}.json", result | {"code": version})
        print(f"ended {key}", flush=True)
        if os.getppid() != parent:
            break
    return failed


def keep(path: Path, result: dict) -> None:
    body = json.dumps(result, separators=(",", ":"))
    digest = hashlib.sha256(body.encode()).hexdigest()
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_text(f"{MAGIC} {digest}\n{body}\n")
    os.replace(unfinished, path)


@cache
def code(rooms: tuple[ModuleType, ...]) -> str:
    """A digest of the code of these packages, which decides a result, so that results of different versions can be told apart."""
    found = hashlib.sha256()
    for package in rooms:
        for path in sorted(Path(package.__file__).parent.rglob("*")):
            if path.suffix in (".py", ".toml"):
                found.update(path.read_bytes())
    return found.hexdigest()[:12]
