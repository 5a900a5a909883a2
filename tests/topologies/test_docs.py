"""docs/scenario.md has a row for every key of the schema, with its default, range and meaning.

The rows of [node] are written from node/schema/config.toml: tests/test_types.py."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic_core import PydanticUndefined

from topologies import faults, motion, netns, radio, run, workload

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scenario.md"

# heading -> (schema, defaults that depend on other keys)
SECTIONS = {
    "[run]": (run.Run, {"name": "file's name", "window": "see there"}),
    "[run.fidelity]": (netns.Fidelity, {}),
    "[hosts]": (run.Hosts, {}),
    "[hosts.N]": (run.HostPrograms, {}),
    "[mobility] with random_waypoint": (motion.RandomWaypoint, {}),
    "[mobility] with static": (motion.Static, {}),
    "[mobility] with outside": (motion.Outside, {}),
    "[mobility] with a trace": (motion.Trace, {"format": "by the file's name"}),
    "[radio] with unit_disk": (radio.UnitDiskRadio, {}),
    "[radio] with log_distance": (radio.LogDistanceRadio, {"data_sensitivity": "`sensitivity`"}),
    "[[radio.links]]": (radio.RadioLink, {}),
    "[workload]": (workload.Workload, {"kinds": "20", "subscriptions": "2"}),
    "[[workload.subscribe]]": (workload.Subscribe, {}),
    "[[workload.publish]]": (workload.Publish, {}),
    "[netns]": (netns.Netns, {}),
    "[[faults]] of a host": (faults.HostFault, {}),
    "[[faults]] of a link": (faults.LinkFault, {}),
}


def _default(key: str, field, special: dict[str, str]) -> str:
    if key in special:
        return special[key]
    if field.default is PydanticUndefined:
        return "needed"
    if field.default is None or field.default == ():
        return "none"
    if isinstance(field.default, (str, tuple)):
        return "`" + repr(field.default).replace("'", '"').replace("(", "[").replace(")", "]") + "`"
    if isinstance(field.default, bool):
        return f"`{field.default}`".lower()
    return f"`{field.default:g}`" if isinstance(field.default, float) else f"`{field.default}`"


def _range(field) -> str:
    words = [
        text.format(bound)
        for kind, text in (
            (Gt, "above {0.gt:g}"),
            (Ge, "from {0.ge:g}"),
            (Lt, "below {0.lt:g}"),
            (Le, "to {0.le:g}"),
            (MinLen, "at least {0.min_length}"),
            (MaxLen, "at most {0.max_length}"),
        )
        for bound in field.metadata
        if isinstance(bound, kind) and getattr(bound, "min_length", 1) > 0
    ]
    parts = (field.annotation, *get_args(field.annotation))  # of "X or nothing", too
    choices = [choice for part in parts if get_origin(part) is Literal for choice in get_args(part)]
    return " ".join(words) or ", ".join(f'`"{choice}"`' for choice in choices)


def rows(heading: str) -> list[str]:
    """The section's table as the page must have it."""
    schema, special = SECTIONS[heading]
    return [
        f"| `{field.alias or name}` | {_default(name, field, special)} | {_range(field)} | {field.description} |"
        for name, field in schema.model_fields.items()
        if field.default_factory is None  # a table, which has a section of its own
    ]


@pytest.mark.parametrize("heading", SECTIONS)
def test_every_key_has_its_row(heading):
    text = PAGE.read_text(encoding="utf-8")
    part = text.split(f"\n### {heading}\n")[1].split("\n### ")[0]
    table = [line for line in part.splitlines() if line.startswith("| `")]
    assert table == rows(heading)
