"""A node's configuration as data: config.toml, read, and what of a configuration cannot be.

The node, a field node's file, a scenario's table [node], the papers' overlay and the docs have their keys, defaults,
ranges and choices from here, and the findings too, so that all of them judge a configuration alike. A finding is (key,
what was found, what would do); texts write keys as people do, in the table [node]: `node.tree`.
"""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from node.schema import SchemaError, read

Finding = tuple[str, str, str]


class Choice(NamedTuple):
    """One choice of a key, as the head of config.toml explains it."""

    name: str
    doc: str
    part: str = ""
    supplies: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


class Key(NamedTuple):
    """One key, as the head of config.toml explains it."""

    name: str
    kind: str  # `type`
    default: Any
    doc: str
    unit: str = ""
    range: tuple[float, float] | None = None
    at_least: str = ""
    at_most: str = ""
    longest: int = 0
    needs: str = ""  # `with`
    keys: tuple[str, ...] = ()
    choices: Mapping[str, Choice] = {}

    @property
    def python(self) -> type:
        return _PYTHON[self.kind]


class Supply(NamedTuple):
    """What one choice gives to others, as ends of the sentence "X, which ..."."""

    has: str
    lacks: str


_PYTHON: dict[str, type] = {"int": int, "float": float, "bool": bool, "text": str, "choice": str}
_KEY = {"type", "default", "range", "at_least", "at_most", "longest", "unit", "doc", "with", "keys", "choices"}
_CHOICE = {"doc", "part", "supplies", "needs", "excludes", "keys"}


@cache
def keys() -> dict[str, Key]:
    """All keys in the order of config.toml."""
    return keys_from(read("config.toml"))


@cache
def supplies() -> dict[str, Supply]:
    return {name: Supply(**table) for name, table in read("config.toml")["supplies"].items()}


@cache
def defaults() -> dict[str, Any]:
    return {name: key.default for name, key in keys().items()}


def keys_from(tables: Mapping[str, Any]) -> dict[str, Key]:
    """The same from the tables themselves; SchemaError if one of them is wrong."""
    found = {name: _key(name, table) for name, table in tables.items() if name != "supplies"}
    for key in found.values():
        where = f"config.toml: [{key.name}]"
        named = {key.at_least, key.at_most, *key.keys, *(name for choice in key.choices.values() for name in choice.keys)}
        if strange := sorted(named - {"", *found}):
            raise SchemaError(f"{where} names the key {strange[0]}, which is none")
        words = {key.needs, *(word for choice in key.choices.values()
                              for word in (*choice.supplies, *choice.needs, *choice.excludes))}
        if strange := sorted(words - {"", *tables["supplies"]}):
            raise SchemaError(f"{where} names {strange[0]}, which is not in [supplies]")
        if list(_value_faults(key, key.default)) or type(key.default) is not key.python:
            raise SchemaError(f"{where} default: {key.default!r} is not what the key takes")
    return found


def _key(name: str, table: Mapping[str, Any]) -> Key:
    where = f"config.toml: [{name}]"
    if strange := sorted(set(table) - _KEY):
        raise SchemaError(f"{where} {strange[0]}: no such key; known are {', '.join(sorted(_KEY))}")
    if missing := sorted({"type", "default", "doc"} - set(table)):
        raise SchemaError(f"{where} {missing[0]}: is missing")
    if table["type"] not in _PYTHON:
        raise SchemaError(f"{where} type: {table['type']!r} is none of {', '.join(_PYTHON)}")
    if (table["type"] in ("int", "float")) != ("range" in table) or (table["type"] == "choice") != ("choices" in table):
        raise SchemaError(f"{where}: a number has a range, a choice has choices, and nothing else has them")
    choices = {choice: _choice(f"config.toml: [{name}.choices.{choice}]", choice, inner)
               for choice, inner in table.get("choices", {}).items()}
    low, high = table.get("range", (0, 0))
    return Key(name, table["type"], table["default"], table["doc"], table.get("unit", ""),
               (low, high) if "range" in table else None, table.get("at_least", ""), table.get("at_most", ""),
               table.get("longest", 0), table.get("with", ""), tuple(table.get("keys", ())), choices)


def _choice(where: str, name: str, table: Mapping[str, Any]) -> Choice:
    if strange := sorted(set(table) - _CHOICE):
        raise SchemaError(f"{where} {strange[0]}: no such key; known are {', '.join(sorted(_CHOICE))}")
    if "doc" not in table:
        raise SchemaError(f"{where} doc: is missing")
    lists = {key: tuple(table.get(key, ())) for key in ("supplies", "needs", "excludes", "keys")}
    return Choice(name, table["doc"], table.get("part", ""), **lists)


# ---- what cannot be --------------------------------------------------------------------------------


def faults(values: Mapping[str, Any]) -> Iterator[Finding]:
    """The values, of all keys, that cannot be, each of its type: by themselves, or beside a key that bounds them."""
    for name, key in keys().items():
        value = values[name]
        yield from _value_faults(key, value)
        low, high = ([f"node.{other} = {values[other]:g}"] if other else [] for other in (key.at_least, key.at_most))
        if low and value < values[key.at_least] or high and value > values[key.at_most]:
            within = f"at least {low[0]}" if low else f"at most {high[0]}"
            yield name, f"{value:g}", f"a number from {low[0]} to {high[0]}" if low and high else within


def _value_faults(key: Key, value: Any) -> Iterator[Finding]:
    if key.range is not None and not key.range[0] <= value <= key.range[1]:
        yield key.name, f"{value:g}", f"a number from {key.range[0]:g} to {key.range[1]:.10g}"
    if key.longest and len(value) > key.longest:
        yield key.name, f"{len(value)} characters", f"at most {key.longest}"
    if key.choices and value not in key.choices:
        yield key.name, _shown(value), _or(key.choices)


def mismatches(values: Mapping[str, Any]) -> Iterator[Finding]:
    """The choices that do not go together, each of them one that there is: what one needs and no other supplies, or what
    it excludes and another supplies."""
    chosen = {name: key.choices[values[name]] for name, key in keys().items() if key.choices}
    for name, choice in chosen.items():
        for supply, by in _amiss(name, choice, chosen):
            yield _finding(name, choice, supply, by, chosen)


def _amiss(name: str, choice: Choice, chosen: Mapping[str, Choice]) -> Iterator[tuple[str, str]]:
    """What this choice of a key finds missing or excludes beside those of the other keys, and the key that could supply
    it or does; of each such key the first."""
    told = set()
    for supply in (*choice.needs, *choice.excludes):
        supplier = next((key for key, other in chosen.items() if key != name and supply in other.supplies), None)
        by = supplier or _supplier(supply)
        if (supplier is None) == (supply in choice.needs) and by not in told:
            told.add(by)
            yield supply, by


def _supplier(supply: str) -> str:
    """The key whose choices supply this."""
    return next(name for name, key in keys().items()
                for choice in key.choices.values() if supply in choice.supplies)


def _suppliers(supply: str) -> tuple[str, ...]:
    return tuple(choice.name for choice in keys()[_supplier(supply)].choices.values() if supply in choice.supplies)


def _finding(name: str, choice: Choice, supply: str, by: str, chosen: Mapping[str, Choice]) -> Finding:
    """What would do: the choices of the other key that mend this, and those of this key that go with all others."""
    words, lacking = supplies()[supply], supply in choice.needs
    found = f"{_shown(choice.name)} with node.{by} = {_shown(chosen[by].name)}, which {words.lacks if lacking else words.has}"
    others = [other.name for other in keys()[by].choices.values() if (supply in other.supplies) == lacking]
    own = [other.name for other in keys()[name].choices.values() if not list(_amiss(name, other, chosen))]
    cures = [f"node.{key} = {_or(names)}" for key, names in ((by, others), (name, own)) if names]
    return name, found, "use " + ", or ".join(cures)


def idle(values: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """(keys, what it would take) of keys that nothing looks at in this configuration."""
    supplied = {supply for name, key in keys().items() if key.choices for supply in key.choices[values[name]].supplies}
    without: dict[str, list[str]] = {}
    for name in keys():
        users = _users(name)
        at_work = [by for by, choices in users.items()
                   if values[by] in choices and (not keys()[by].needs or keys()[by].needs in supplied)]
        if users and not at_work:
            missing = {keys()[by].needs for by, choices in users.items() if values[by] in choices}
            cures = {_supplier(need): _suppliers(need) for need in missing} or users
            cure = ", or ".join(f"node.{by} = {_or(choices)}" for by, choices in cures.items())
            without.setdefault(cure, []).append(name)
    for cure, names in without.items():
        yield tuple(names), cure


def used(name: str) -> tuple[str, ...]:
    """The keys that one choice or another of this key looks at, in the order of config.toml."""
    return tuple(key for key in keys() if name in _users(key))


@cache
def _users(name: str) -> dict[str, tuple[str, ...]]:
    """By key the choices that look at this key; nothing where the node itself does."""
    users = {by: tuple(choice.name for choice in key.choices.values()
                       if name in choice.keys or name in key.keys and choice.part) for by, key in keys().items()}
    return {by: choices for by, choices in users.items() if choices}


def _shown(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else str(value)


def _or(names: Any) -> str:
    """"a", "b" or "c"."""
    *most, last = map(_shown, names)
    return f"{', '.join(most)} or {last}" if most else last
