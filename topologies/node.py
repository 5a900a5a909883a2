"""[node]: the parts of the node and their timers, with the keys of node/schema/config.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, create_model

from node.schema import config
from node.schema.keys import Keys
from topologies.section import Section


def _field(key: config.Key) -> tuple[Any, Any]:
    """The type and the rest of a field of pydantic's."""
    bounds: dict[str, Any] = {}
    if key.range is not None:
        bounds["ge"], bounds["le"] = key.range
    if key.longest:
        bounds["max_length"] = key.longest
    description = f"{key.unit}: {key.doc}" if key.unit else key.doc
    kind = Literal[tuple(key.choices)] if key.choices else key.python
    return kind, Field(key.default, description=description, **bounds)


if TYPE_CHECKING:
    class Node(Section, Keys):
        """The table [node]."""
else:
    Node = create_model("Node", __base__=Section, __module__=__name__, __doc__="The table [node].",
                        **{key.name: _field(key) for key in config.keys().values()})
