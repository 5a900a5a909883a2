"""What a message counts in the papers' normalized cost: table II of cugola-frey-murphy-picco-dynamic-topology.

The weights are data, in weights.toml. The reproduction weighs the overlay's runs by them, the overhead table
those of the radio.
"""
from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path


@cache
def weights() -> dict[str, tuple[float, float]]:
    """Message type -> (per message, per pattern)."""
    tables = tomllib.loads((Path(__file__).parent / "weights.toml").read_text())
    return {name: (row.get("each", 0), row.get("pattern", 0))
            for table in tables.values() for name, row in table.items()}
