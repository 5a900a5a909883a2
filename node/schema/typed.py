"""Python that is written from the contracts, so that editors and type checkers know what the TOML files say.

    python -m node.schema.typed    # writes what is not current, and says so

Nothing of it is read when a node runs. tests/test_types.py holds it current.
"""
from __future__ import annotations

from pathlib import Path

from node.schema import FOLDER, UNSIGNED, Field, MessageSchema, Type, messages

NODE = FOLDER.parent
_PYTHON = dict.fromkeys(UNSIGNED, "int") | {
    "node": "NodeId", "epoch": "Epoch", "f64": "float", "bool": "bool", "text": "str", "bytes": "bytes",
    "attributes": "Mapping[str, Value]", "filter": "Filter", "message": "Message"}
_MESSAGES = '''\
"""Written by `python -m node.schema.typed` from schema/messages.toml: change it there, and write this again."""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from node.filters.language import Filter, Value
from node.ids import Epoch, NodeId

__all__ = [
    "Message",
{names}
]

class Message(tuple[Any, ...]):
    code: ClassVar[int]
    name: ClassVar[str]
    family: ClassVar[str]
    scope: ClassVar[str]

CLASSES: Mapping[str, type[Message]]

{classes}'''


def files() -> dict[Path, str]:
    """What each written file has to say."""
    return {NODE / "messages.pyi": _messages()}


def write() -> list[Path]:
    """Write those that say something else; gives them."""
    old = [path for path, text in files().items()
           if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in old:
        path.write_text(files()[path], encoding="utf-8")
    return old


def _messages() -> str:
    tables = messages().values()
    return _MESSAGES.format(names="\n".join(f'    "{table.class_name}",' for table in tables),
                            classes="\n".join(_class(table) for table in tables))


def _class(table: MessageSchema) -> str:
    """In two: a NamedTuple takes no second base."""
    fields = [f"    {field.name}: {_python(field.type)}  # {_unit(field)}{field.doc}" for field in table.fields]
    return "\n".join([f"class _{table.class_name}(NamedTuple):", *(fields or ["    pass"]), "",
                      f"class {table.class_name}(_{table.class_name}, Message):", f'    """{table.doc}"""', ""])


def _unit(field: Field) -> str:
    return f"{field.unit}: " if field.unit else ""


def _python(kind: Type) -> str:
    """The annotation for a value of this type, as it is once decoded."""
    if kind.kind == "list":
        return f"tuple[{_python(kind.items[0])}, ...]"
    if kind.kind == "tuple":
        return f"tuple[{', '.join(map(_python, kind.items))}]"
    if kind.kind == "optional":
        return f"{_python(kind.items[0])} | None"
    return _PYTHON[kind.kind]


if __name__ == "__main__":
    for path in write():
        print(path)
