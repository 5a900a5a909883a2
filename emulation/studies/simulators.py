"""What a study's runs are done by: the papers' simulator, or a scenario in `sim` whose numbers are kept alone.

A run is a dictionary of parameters, and so is its result. `command` tells from the parameters which of the two it is.
"""
from __future__ import annotations

import hashlib
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

LONGEST = 1800  # s that one run may take; then its process is ended by SIGALRM


class Simulator(NamedTuple):
    """`run(parameters)` is a result; `code`: a digest of the code that decides it."""

    run: Callable[[dict[str, Any]], dict[str, Any]]
    code: str


def command(given: dict[str, Any]) -> str:
    """The name of the simulator that does one run with these parameters: `measure` of a scenario, or the papers' `overlay`."""
    return "measure" if "run.seed" in given else "overlay"


def simulator(name: str, say: Callable[[str], None] = lambda note: None) -> Simulator:
    """A simulator by its name; `say` hears each note on a scenario once."""
    import node

    if name == "overlay":
        from emulation.studies import overlay

        return Simulator(lambda given: overlay.run(overlay.Parameters.of(given)), code(node, overlay))
    import analysis
    import emulation
    import mobility
    import topologies
    from emulation.studies.measure import Measure

    return Simulator(Measure(say), code(node, mobility, topologies, emulation, analysis))


def result_of(simulator: Simulator, given: dict[str, Any]) -> dict[str, Any]:
    """A run's result, with the digest of the code; {"failed": why} of one that fails. One that does not end takes its
    process with it."""
    signal.alarm(LONGEST)
    try:
        result = simulator.run(given)
    except Exception as error:  # one run's fault is not the next one's
        result = {"parameters": given, "failed": f"{type(error).__name__}: {error}"}
    finally:
        signal.alarm(0)
    return result | {"code": simulator.code}


@cache
def code(*packages: ModuleType) -> str:
    """A digest of the code of these packages, so that results of different versions can be told apart."""
    found = hashlib.sha256()
    for package in packages:
        for path in sorted(Path(str(package.__file__)).parent.rglob("*")):
            if path.suffix in (".py", ".toml"):
                found.update(path.read_bytes())
    return found.hexdigest()[:12]
