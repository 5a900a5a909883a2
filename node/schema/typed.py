"""What is written from the contracts: Python for editors and type checkers, and tables in the docs.

    python -m node.schema.typed    # writes what is not current, and says so

tests/test_types.py holds it all current.
"""
from __future__ import annotations

import json
from pathlib import Path

from node.schema import FOLDER, UNSIGNED, Field, MessageSchema, Type, config, messages

NODE = FOLDER.parent
_OF_THE_RADIO = ("base_rate", "data_rate")  # a scenario takes them from its table [radio]
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


_KEYS = '''\
"""Written by `python -m node.schema.typed` from schema/config.toml: change it there, and write this again."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a node's configuration with their defaults."""

{fields}
'''
DOCS = NODE.parent / "docs"  # of a checkout
BEGIN, END = "<!-- {}: written by `python -m node.schema.typed` -->\n", "<!-- end -->\n"


def files() -> dict[Path, str]:
    """What each written file has to say."""
    found = {NODE / "messages.pyi": _messages(), FOLDER / "keys.py": _keys()}
    if DOCS.exists():
        found |= {DOCS / name: _page(DOCS / name, tables) for name, tables in _tables().items()}
    return found


def _tables() -> dict[str, dict[str, list[str]]]:
    """The written tables of each page, by the name in the comment above them."""
    return {"scenario.md": {"keys": key_rows(), "choices": choice_rows(*config.keys())},
            "protocols.md": {"routing": choice_rows("strategy", "forwarding"),
                             "reconciliation": choice_rows("reconcile", with_keys=True)}}


def _page(page: Path, tables: dict[str, list[str]]) -> str:
    text = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        head, _, rest = text.partition(BEGIN.format(name))
        text = head + BEGIN.format(name) + "\n".join(["", *table, "", END]) + rest.partition(END)[2]
    return text


def write() -> list[Path]:
    """Write those that say something else; gives them."""
    old = [path for path, text in files().items()
           if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in old:
        path.write_text(files()[path], encoding="utf-8")
    return old


def _keys() -> str:
    return _KEYS.format(fields="\n".join(
        f"    {key.name}: {key.python.__name__} = {_literal(key.default)}  # {_unit(key)}{key.doc}"
        for key in config.keys().values()))


def _literal(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def key_rows() -> list[str]:
    """The table of all keys, as docs/scenario.md has it."""
    rows = ["| key | default | range | meaning |", "|---|---|---|---|"]
    for key in config.keys().values():
        default = "[radio]'s" if key.name in _OF_THE_RADIO else f"`{json.dumps(key.default)}`"
        rows.append(f"| `{key.name}` | {default} | {_range(key)} | {_unit(key)}{key.doc} |")
    return rows


def choice_rows(*names: str, with_keys: bool = False) -> list[str]:
    """The table of these keys' choices: what they do, what each needs of the others, and perhaps the keys it reads."""
    rows = [("choice", "what it does", "needs", "not with", "keys")]
    for key in map(config.keys().__getitem__, names):
        for choice in key.choices.values():
            needs, excludes = (", ".join(filter(None, map(_of, words))) for words in (choice.needs, choice.excludes))
            read = ", ".join(f"`{name}`" for name in choice.keys) if with_keys else ""
            rows.append((f'`{key.name} = "{choice.name}"`', choice.doc, needs, excludes, read))
    used = [column for column in zip(*rows, strict=True) if any(column[1:])]
    head, *body = (f"| {' | '.join(row)} |" for row in zip(*used, strict=True))
    return [head, "|" + "---|" * len(used), *body]


def _of(supply: str) -> str:
    """The choices that supply this, as the docs name them."""
    return " or ".join(f'`{key.name} = "{choice.name}"`' for key in config.keys().values()
                       for choice in key.choices.values() if supply in choice.supplies)


def _range(key: config.Key) -> str:
    if key.range is not None:
        bounds = f"from {key.range[0]:g} to {key.range[1]:.10g}"
        return bounds + "".join(f", {word} `{other}`" for word, other in
                                (("at least", key.at_least), ("at most", key.at_most)) if other)
    return f"at most {key.longest} characters" if key.longest else ", ".join(f'`"{name}"`' for name in key.choices)


def _messages() -> str:
    tables = messages().values()
    return _MESSAGES.format(names="\n".join(f'    "{table.class_name}",' for table in tables),
                            classes="\n".join(_class(table) for table in tables))


def _class(table: MessageSchema) -> str:
    """In two: a NamedTuple takes no second base."""
    fields = [f"    {field.name}: {_python(field.type)}  # {_unit(field)}{field.doc}" for field in table.fields]
    return "\n".join([f"class _{table.class_name}(NamedTuple):", *(fields or ["    pass"]), "",
                      f"class {table.class_name}(_{table.class_name}, Message):", f'    """{table.doc}"""', ""])


def _unit(of: Field | config.Key) -> str:
    return f"{of.unit}: " if of.unit else ""


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
