"""What was run, in words and tables for the report: the scenario, the versions, the movement."""
from __future__ import annotations

import json
from typing import Any

from analysis.run import LONGEST, Run
from analysis.sides import flat

WORLDS = {"sim": "simulated (sim)", "netns": "in real time (netns)", "hwsim": "in real time (hwsim)",
          "mininet": "in real time (mininet)", "field": "in the field"}
MOST_LINES = 500  # of the scenario that the page holds
LONGEST_VALUE = 200  # characters


def lasted(run: Run) -> str:
    """How long it ran and in which world: "120 s, simulated (sim)"."""
    return f"{round(run.ended, 1):g} s, {WORLDS.get(run.world, f'in the world {run.world}')}"


def hosts(run: Run) -> str:
    """How many: "30 hosts"."""
    return f"{len(run.hosts)} host{'' if len(run.hosts) == 1 else 's'}"


def headline(run: Run) -> str:
    """Hosts, world, seed, movement and radio on one line."""
    mobility, radio = _table(run, "mobility"), _table(run, "radio")
    moves = f"trace {mobility['trace']}" if mobility.get("trace") else str(mobility.get("model", ""))
    if moves and run.area:
        moves += f" in {run.area[0]:,g} × {run.area[1]:,g} m"
    reach = f"radio {radio.get('model', 'unit_disk')}" if radio else ""
    span = radio.get("range")
    if isinstance(span, int | float) and 0 < span <= LONGEST:
        reach += f", range {span:g} m"
    return " · ".join(filter(None, [hosts(run), lasted(run), f"seed {run.seed}", moves, reach]))


def facts(run: Run) -> list[tuple[str, str]]:
    """(what, value): with which versions and on which machine, beside the scenario."""
    manifest, mobility = run.manifest, _table(run, "mobility")
    commit = str(manifest.get("commit") or "")
    version = str(manifest.get("roamcast") or "not known") + (f", commit {commit}" if commit else "")
    made = f"the trace {mobility['trace']}" if mobility.get("trace") else \
        f"the model {mobility.get('model', '')} by the seed"
    lines = [("version", version), ("world", WORLDS.get(run.world, run.world)), ("seed", str(run.seed)),
             ("movement", f"{made}; as it was replayed: trace.movements.gz" if mobility else "not recorded"),
             ("started", str(manifest.get("started") or "")), ("stopped", str(manifest.get("stopped") or "")),
             ("machine", _pairs(manifest.get("machine"))),
             ("packages", _pairs(manifest.get("packages")))]
    return [(name, value) for name, value in lines if value]


def _pairs(found: object) -> str:
    return ", ".join(f"{key} {value}" for key, value in found.items()) if isinstance(found, dict) else ""


def scenario(run: Run) -> tuple[list[tuple[str, list[tuple[str, str]]]], int]:
    """The resolved scenario as (section, its keys and values), and how many lines were left out."""
    lines = list(flat(run.scenario).items())
    sections: dict[str, list[tuple[str, str]]] = {}
    for key, value in lines[:MOST_LINES]:
        section = key.partition(".")[0].partition("[")[0]
        shown = "(set; not shown)" if key == "node.secret" and value else _shown(value)
        sections.setdefault(section, []).append((key[len(section):].lstrip(".") or section, shown))
    return list(sections.items()), max(0, len(lines) - MOST_LINES)


def _shown(value: object) -> str:
    text = value if isinstance(value, str) and value else json.dumps(value, default=str)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + " ..."


def _table(run: Run, name: str) -> dict[str, Any]:
    found = run.scenario.get(name)
    return found if isinstance(found, dict) else {}
