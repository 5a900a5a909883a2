"""Parts that come from outside the checkout: models of movement and metrics, by entry point or by file.

A part is code that runs with the user's rights. So a scenario names a part and never a file: code is found in an installed
package that declares it (entry points of a group), or in files that the user names in an environment variable.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Iterator
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

MODELS = ("roamcast.mobility", "ROAMCAST_MOBILITY", "MODELS")  # group of entry points, variable with files, name in a file
METRICS = ("roamcast.metrics", "ROAMCAST_METRICS", "METRICS")
Kind = tuple[str, str, str]


class OutsideError(ImportError):
    """A part that cannot be loaded; str() is one line with the cure."""


class Part(NamedTuple):
    """What was found, and where it came from."""

    name: str  # of the entry point, or of the file
    value: Any
    file: Path
    source: str  # distribution and version, or the file's name
    sha256: str  # of the file

    def told(self) -> dict[str, str]:
        """For the manifest of a run."""
        return {"name": self.name, "from": self.source, "file": self.file.name, "sha256": self.sha256}


def parts(kind: Kind) -> tuple[Part, ...]:
    """All parts of a kind. Raises OutsideError."""
    return _parts(kind, os.environ.get(kind[1], ""))


def models() -> dict[str, Part]:
    """The models of movement by name. Raises OutsideError."""
    found: dict[str, Part] = {}
    for part in parts(MODELS):
        given = part.value if isinstance(part.value, dict) else {part.name: part.value}
        for name, model in given.items():
            if not callable(model):
                raise OutsideError(f"{part.source}: {name}: found no function; a model is move(hosts, duration, seed, **parameters)")
            if name in found:
                raise OutsideError(f"{part.source}: {name}: found in {found[name].source}, too; rename one of them")
            found[name] = part._replace(name=name, value=model)
    return found


@lru_cache(maxsize=8)
def _parts(kind: Kind, files: str) -> tuple[Part, ...]:
    group, variable, attribute = kind
    return (*_installed(group), *(_of_file(Path(name), variable, attribute) for name in files.split(os.pathsep) if name))


def _installed(group: str) -> Iterator[Part]:
    for point in sorted(metadata.entry_points(group=group), key=lambda point: point.name):
        source = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        try:
            value = point.load()
            spec = importlib.util.find_spec(point.module)
        except Exception as error:  # other people's code
            raise OutsideError(f"{source}: {group}: {point.value}: cannot be loaded ({type(error).__name__}: {error}); correct or uninstall it") from None
        file = Path(spec.origin) if spec is not None and spec.origin is not None else Path(point.module)
        yield Part(point.name, value, file, source, _digest(file))


def _of_file(file: Path, variable: str, attribute: str) -> Part:
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise OutsideError(f"{variable}: {file}: cannot be read: {error.strerror}; give Python files, with {os.pathsep} between them") from None
    spec = importlib.util.spec_from_file_location(f"roamcast_part_{file.stem}_{digest[:8]}", file)
    if spec is None or spec.loader is None:
        raise OutsideError(f"{variable}: {file}: not a Python file; give one whose name ends in .py")
    module: ModuleType = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise OutsideError(f"{variable}: {file}: cannot be loaded ({type(error).__name__}: {error}); correct it") from None
    if not hasattr(module, attribute):
        raise OutsideError(f"{variable}: {file}: found no {attribute} in it; see docs/extending.md")
    return Part(file.stem, getattr(module, attribute), file, file.name, digest)


def _digest(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""
