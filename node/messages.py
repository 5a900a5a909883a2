"""The classes of the messages, one for each table of schema/messages.toml and made from it.

A class is a NamedTuple of the table's fields and a Message; its name is the table's in camel case (RELAY_ACK: RelayAck).
messages.pyi writes the same classes out with their types, for readers, editors and type checkers;
`python -m node.schema.typed` writes that file again. Who sends or receives messages takes the classes from `wire`.
"""
from __future__ import annotations

from collections import namedtuple
from typing import ClassVar

from node import schema


class Message:
    """What all messages have in common."""

    __slots__ = ()
    code: ClassVar[int]
    name: ClassVar[str]  # as in messages.toml, for records and tables
    family: ClassVar[str]
    scope: ClassVar[str]  # "hop" or "link"

    # As tuples, messages of two types with the same fields would be equal.
    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.code, *self))


def _class(table: schema.MessageSchema) -> type[Message]:
    fields = namedtuple(table.class_name, [field.name for field in table.fields])
    return type(table.class_name, (Message, fields), {
        "__slots__": (), "__module__": __name__, "__doc__": table.doc,
        "code": table.code, "name": table.name, "family": table.family, "scope": table.scope})


CLASSES = {name: _class(table) for name, table in schema.messages().items()}  # by their key in messages.toml
globals().update({cls.__name__: cls for cls in CLASSES.values()})
__all__ = ["Message", *(cls.__name__ for cls in CLASSES.values())]
