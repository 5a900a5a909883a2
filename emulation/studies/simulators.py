"""What a study's runs are done by: the papers' simulator, or a scenario in `sim`, whose numbers alone are kept or which is analysed.

A run is a dictionary of parameters, and so is its result. `command` tells from the parameters which of the three it is.
"""
from __future__ import annotations

import hashlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple

LONGEST = 1800  # s that one run may take


class Simulator(NamedTuple):
    """`run(parameters)` is a result; `code`: a digest of the code that decides it."""

    run: Callable[[dict[str, Any]], dict[str, Any]]
    code: str


class _Late(BaseException):
    """No Exception: a simulator must not take it for one of its own."""


def command(given: dict[str, Any]) -> str:
    """The name of the simulator that does one run with these parameters: `analyse` or `measure` of a scenario, or the papers'
    `overlay`."""
    return "analyse" if "scenario" in given else "measure" if "run.seed" in given else "overlay"


@cache
def simulator(name: str) -> Simulator:
    """A simulator by its name, one a process: runs with the same movement share what is computed of it."""
    import node

    if name == "overlay":
        from emulation.studies import overlay

        return Simulator(lambda given: overlay.run(overlay.Parameters.of(given)), code(node, overlay))
    import analysis
    import emulation
    import mobility
    import topologies

    whole = code(node, mobility, topologies, emulation, analysis)
    if name == "analyse":
        from emulation.studies.analysed import analysed

        return Simulator(analysed, whole)
    from emulation.studies.measure import Measure

    return Simulator(Measure(), whole)


def done(given: dict[str, Any], name: str | None = None) -> dict[str, Any]:
    """A run's result, by the simulator that its parameters tell unless one is named."""
    return result_of(simulator(name or command(given)), given)


def result_of(simulator: Simulator, given: dict[str, Any]) -> dict[str, Any]:
    """A run's result, with the digest of the code; {"failed": why} of one that fails, or does not end within LONGEST."""
    try:
        with _limited(LONGEST):
            result = simulator.run(given)
    except Exception as error:  # one run's fault is not the next one's
        result = {"parameters": given, "failed": f"{type(error).__name__}: {error}"}
    except _Late:
        result = {"parameters": given, "failed": f"it took more than {LONGEST} s"}
    return result | {"code": simulator.code}


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Raise _Late after so long, where signals may be had."""
    def late(number: int, frame: FrameType | None) -> None:
        raise _Late

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@cache
def code(*packages: ModuleType) -> str:
    """A digest of the code of these packages, so that results of different versions can be told apart. The scenarios that lie
    in topologies/ are no code."""
    found = hashlib.sha256()
    for package in packages:
        room = Path(str(package.__file__)).parent
        for path in sorted(room.rglob("*")):
            if path.suffix == ".py" or path.suffix == ".toml" and room.name != "topologies":
                found.update(path.read_bytes())
    return found.hexdigest()[:12]
