"""Result files: which there are, which are damaged, which are missing.

One file a run (docs/reproduction.md has the form): a line `roamcast-overlay 1 SHA256`, then the result as JSON, of which
SHA256 is the digest, with the `key` that names the file. It appears whole or not at all. So a torn or altered file is known
from a whole one, and is as good as missing.
"""
from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from analysis.errors import AnalysisError
from mobility.wholefile import SCRATCH, write_whole

MAGIC = "roamcast-overlay 1"


class Damaged(ValueError):
    """A file that is not as it was written, or not the one that its name says."""


def key(parameters: dict[str, Any]) -> str:
    """The name of a run: the same parameters, the same name."""
    return hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()[:20]


def read(path: Path) -> dict[str, Any]:
    """A run's result. FileNotFoundError; Damaged when the file is not whole, or is another run's."""
    head, _, body = path.read_text(encoding="utf-8", errors="replace").partition("\n")
    if head != f"{MAGIC} {hashlib.sha256(body.removesuffix(chr(10)).encode()).hexdigest()}":
        raise Damaged(f"{path.name}: its digest does not match")
    result = json.loads(body)
    if not isinstance(result, dict) or result.get("key", path.stem) != path.stem:
        raise Damaged(f"{path.name}: not the result of this run")
    return result


def keep(path: Path, result: dict[str, Any]) -> None:
    """Raises OSError."""
    body = json.dumps(result, separators=(",", ":"))
    write_whole(path, f"{MAGIC} {hashlib.sha256(body.encode()).hexdigest()}\n{body}\n")


def tidy(folder: Path) -> None:
    """Remove what a process left that was ended while it wrote."""
    for path in folder.iterdir():
        if path.suffix == SCRATCH or path.suffix[1:].isdigit():
            path.unlink(missing_ok=True)


def missing(folder: Path, runs: Iterable[dict[str, Any]]) -> tuple[list[dict[str, Any]], int, int]:
    """(runs that are to be done, how many of them had a damaged file, how many had failed). Damaged files
    are removed."""
    todo, damaged, failed = [], 0, 0
    for parameters in runs:
        path = folder / f"{key(parameters)}.json"
        try:
            if "failed" not in read(path):
                continue
            failed += 1
        except FileNotFoundError:
            pass
        except Damaged:
            damaged += 1
            path.unlink()
        except OSError as error:
            raise AnalysisError(f"{path}: cannot be read: {error.strerror}") from None
        todo.append(parameters)
    return todo, damaged, failed
