"""Reads scenario files: TOML within bounds, one scenario on top of another (`base = "..."`), values set from outside."""

from __future__ import annotations

import copy
import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from topologies import inexact
from topologies.problems import ScenarioError, line, show

Tables = dict[str, Any]
MOST_BYTES = 12 << 20  # of a scenario; 100,000 places, as a run directory has them, take ten of these twelve MiB
MOST_PARTS = 8  # of a dotted key, for which tomllib takes memory with their square
MOST_BASES = 16  # files one on top of another
BASE = "base"  # the key that names the file below
SHUT_OUT = {"hosts": ("count", "names")}  # keys of a table of which a file on top replaces all by giving one
KINDS = {"mobility": "random_waypoint", "radio": "unit_disk"}  # tables of several kinds, and the kind of one that does not say
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_DEEP_KEY = re.compile(rf"""(?<![\w'"-])(?:{_PART}){{{MOST_PARTS}}}""")


def read(path: Path) -> Tables:
    """The tables of one file. Raises ScenarioError, one line."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a pipe would wait, a device never end
            raise ScenarioError([f"{path}: not a file; give a scenario file"])
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ScenarioError([f"{path}: more than {MOST_BYTES >> 20} MiB; give a scenario, with movement in a trace"])
        text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        if deep := _DEEP_KEY.search(text):
            number = text.count("\n", 0, deep.start()) + 1
            raise ScenarioError([f"{path}: line {number}: found a key of more than {MOST_PARTS} parts; give a scenario, "
                                 "whose keys have fewer"])
        return tomllib.loads(text, parse_float=inexact.number)
    except FileNotFoundError:
        raise ScenarioError([f"{path}: no such file; {instead(path)}"]) from None
    except OSError as error:
        raise ScenarioError([f"{path}: cannot be read: {error.strerror}; give a scenario file"]) from None
    except UnicodeDecodeError:
        raise ScenarioError([f"{path}: not a text file; give a scenario in TOML"]) from None
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError([f"{path}: not TOML: {error}; correct that line"]) from None
    except RecursionError:
        raise ScenarioError([f"{path}: lists or tables nested too deeply; give a scenario"]) from None
    except ValueError as error:  # a number of thousands of digits, a name with a zero byte
        raise ScenarioError([f"{path}: cannot be read: {error}; give a scenario in TOML"]) from None


def instead(path: Path) -> str:
    """What to give for a scenario that is not there: the file whose name is like it, in the same folder."""
    try:
        names = sorted(file.name for file in path.parent.glob("*.toml") if file.name != path.name)
    except (OSError, ValueError):
        names = []
    near = difflib.get_close_matches(path.name, names, 1, 0.8)
    if (name := path.name + ".toml") in names:
        near = [name]
    return f"did you mean {path.with_name(near[0])}?" if near else "give a scenario, such as topologies/park-30.toml"


def layers(path: Path) -> list[tuple[Path, Tables]]:
    """The file and what it extends, each with its own tables, the topmost first. Raises ScenarioError, one line."""
    tables = read(path)
    below = tables.pop(BASE, None)
    return [(path, tables), *(layers_below(path, below) if below is not None else ())]


def layers_below(path: Path, base: object) -> list[tuple[Path, Tables]]:
    """The same of the scenario that a file names as its base. Its paths are relative to itself, not to the file on top."""
    found: list[tuple[Path, Tables]] = []
    above, known = path, [path.resolve()]
    while base is not None:
        here = _below(above, base)
        if here.resolve() in known:
            circle = [one.name for one in known[known.index(here.resolve()):]]
            raise ScenarioError([line(above, BASE, f"a circle: {' extends '.join([*circle, circle[0]])}", "leave out base in one of them")])
        if len(known) > MOST_BASES:
            raise ScenarioError([line(above, BASE, f"more than {MOST_BASES} scenarios one on top of another", "give fewer")])
        tables = read(here)
        base = tables.pop(BASE, None)
        _anchor(tables, here)
        found.append((here, tables))
        known.append(here.resolve())
        above = here
    return found


def _below(above: Path, base: object) -> Path:
    """The file that `above` names as its base. Raises ScenarioError."""
    cure = "give the path of a scenario, relative to this file"
    if not isinstance(base, str) or not base or "\0" in base:
        raise ScenarioError([line(above, BASE, show(base), cure)])
    path = above.parent / base
    try:
        if path.resolve().is_file():
            return path
    except (OSError, RuntimeError):  # links in a circle, a name too long
        pass
    near = instead(path)
    raise ScenarioError([line(above, BASE, f"{show(base)}, which is not a file", near if near.startswith("did you mean") else cure)])


def _anchor(tables: Tables, path: Path) -> None:
    for name, key in (("mobility", "trace"), ("workload", "log")):
        table = tables.get(name)
        if isinstance(table, dict) and isinstance(table.get(key), str):
            table[key] = str(path.parent.absolute() / table[key])


def whole(found: Sequence[tuple[Path, Tables]]) -> Tables:
    """One set of tables from `layers`."""
    tables: Tables = {}
    for _, own in reversed(found):
        tables = on_top(tables, own)
    return tables


def on_top(below: Tables, above: Mapping[str, Any]) -> Tables:
    """Tables in which `above` adds keys and replaces values; a list replaces a list. A table [mobility] or [radio] of another
    kind replaces the whole table, and hosts.names replaces hosts.count."""
    found = copy.deepcopy(below)
    for key, value in above.items():
        if isinstance(value, Mapping) and isinstance(found.get(key), dict) and not _another_kind(key, found[key], value):
            for name in SHUT_OUT.get(key, ()) if any(name in value for name in SHUT_OUT.get(key, ())) else ():
                found[key].pop(name, None)
            found[key] = on_top(found[key], value)
        else:
            found[key] = copy.deepcopy(value)
    return found


def _another_kind(key: str, below: Mapping[str, Any], above: Mapping[str, Any]) -> bool:
    def kind(table: Mapping[str, Any]) -> object:
        return "trace" if "trace" in table else table.get("model", "static" if "positions" in table else None)

    return key in KINDS and kind(above) is not None and kind(above) != (kind(below) or KINDS[key])


def override(tables: Tables, overrides: Mapping[str, Any]) -> Tables:
    """The tables with other values, under dotted keys ("run.seed": 3) or as tables. Raises ScenarioError."""
    tables = copy.deepcopy(tables)
    for key, value in overrides.items():
        *sections, last = key.split(".")
        table = tables
        for section in sections:
            table = table.setdefault(section, {})
            if not isinstance(table, dict):
                raise ScenarioError([line("override", key, "a key inside a value that is not a table", "leave it out")])
        if isinstance(value, Mapping) and isinstance(table.get(last), dict):
            table[last] = on_top({last: table[last]}, {last: value})[last]
        else:
            table[last] = copy.deepcopy(value)
    return tables


def blamed(error: ScenarioError, found: Sequence[tuple[Path, Tables]], top: Path | None = None) -> ScenarioError:
    """The same problems, which name the file `top`, the first one unless given, each told of the file that has its key:
    a value may come from a base."""
    top = top or found[0][0]

    def where(problem: str) -> str:
        said = re.match(r"([\w.-]+)(?:\[\d+\][\w.\[\]-]*)?: ", problem.removeprefix(f"{top}: "))
        parts = said[1].split(".") if said and problem.startswith(f"{top}: ") else []
        owner = next((path for path, tables in found if parts and _has(tables, parts)), top)
        return f"{owner}: {problem.removeprefix(f'{top}: ')}" if owner != top else problem

    return ScenarioError(map(where, error.problems), error.more)


def _has(tables: object, parts: Sequence[str]) -> bool:
    for part in parts:
        if not isinstance(tables, dict) or part not in tables:
            return False
        tables = tables[part]
    return True


def flat(tables: Mapping[str, Any], under: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys and their values; an empty table is a value."""
    for name, value in tables.items():
        key = f"{under}.{name}" if under else name
        if isinstance(value, dict) and value:
            yield from flat(value, key)
        else:
            yield key, value


def value_of(text: str) -> Any:
    """A value as it stands in a file; a text of letters, digits, _ and - needs no quotes. Raises ValueError."""
    if re.fullmatch(r"[A-Za-z_][\w./-]*", text, re.ASCII) and text not in ("true", "false", "inf", "nan"):
        return text
    tables = tomllib.loads(f"value = {text}", parse_float=inexact.number)  # its errors are ValueErrors
    if tables.keys() != {"value"}:
        raise ValueError(text)
    return tables["value"]


