"""What a line of a log must be to be a record: one JSON object, with the fields that node.schema has for its kind.

Arrow's reader parses many lines at once and refuses all of them for one; so lines that it refuses are halved until
the bad ones are alone. A line is read twice: once for the three fields that every record has, and once with the
schema of its kind, because two kinds may give one field name two types (`from` is a host or a link). The second time
Arrow refuses a field that the kind does not have; only where it does so is it looked for, line by line.
"""
from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from node.schema import RecordType, faults, parse_record_type
from node.schema import records as record_kinds

WORLD = "world.jsonl"
MOST_ODD, LONGEST_NAME = 20, 40  # ways in which the fields of a kind are not its own, in a block of lines; characters of a name
MOST_NODES, LATEST = 100_000, 1e9  # ids and times (s) beyond these are no record's: tables by id stay small
MOST_COUNT = 2**53  # of whole numbers: beyond it a number of JSON may be another's
LEAST, MOST = {"seconds": 0.0, "away": 0.0, "airtime": 0.0, "published": -LATEST}, {"published": LATEST}  # of numbers
RANGES = {"epoch": (1, 2**32 - 1), "epochs": (1, 2**32 - 1), "hops": (0, 255)}  # of whole numbers, by the name of their field
# fields by what they name, whatever the kind; hosts by id, links and events in the text form of node/ids.py
HOSTS = {"from", "to", "host", "neighbor", "other", "leader", "parent", "broker", "device", "holder"}
_HEX = r"^([0-9a-f]{2})*$"
_ID = r"(0|[1-9]\d{0,9})"
_LINK, _EVENT = rf"^{_ID}-{_ID}\.[0-9a-f]{{1,8}}$", rf"^{_ID}\.[1-9]\d{{0,9}}\.(0|[1-9]\d{{0,15}})$"
FORMS = {"event": _EVENT, "x": _HEX, **dict.fromkeys(("link", "rid", "lost", "new", "from", "to"), _LINK)}
# where a line stands, to order the records of one instant: start of the piece of the file, then the row in it
LINE = pa.struct([pa.field("block", pa.int64(), False), pa.field("row", pa.int64(), False)])
_VALUE = parse_record_type("value")  # has one part
_PLAIN = {"int": pa.int64(), "float": pa.float64(), "text": pa.string(), "bool": pa.bool_()}
_HEAD = pa.schema([("t", pa.float64()), ("node", pa.int64()), ("kind", pa.string())])
# something other than the end of what holds it comes behind an object, or a text says so: Arrow would see two rows
_GLUED = re.compile(rb"\}[ \t\r]*[^\s,}\]]")


class Lines(NamedTuple):
    """Some lines of logs, in their order; arrays of one length."""

    text: list[bytes]  # without white space around them, none empty
    owner: np.ndarray  # the node whose file it is, -1 for the world
    block: np.ndarray  # where the piece of the file begins that the line is in, in bytes
    row: np.ndarray  # which line of the piece it is


class Parsed(NamedTuple):
    """What `parse` found; the arrays have a row a line."""

    t: np.ndarray  # s, nan where the line is no record
    node: np.ndarray  # whose record it is; -2 where it is none
    kind: np.ndarray  # text; None where it is no record, or one of another node than the file's
    astray: np.ndarray  # it is a record of another node
    tables: dict[str, pa.Table]  # kind -> its records, for the kinds that the schema knows
    odd: Counter[str]  # how fields are not those of their kind, as "KIND has FIELD" -> in how many records


def arrow_type(of: RecordType) -> pa.DataType:
    """The type of a record's field; everything may be null, because logs are as they are found."""
    if of.kind == "list":
        return pa.list_(arrow_type(of.items[0]))
    if of.kind == "struct":
        return pa.struct([(name, arrow_type(kind)) for name, kind in of.fields])
    return _PLAIN[of.kind]


@cache
def schemas() -> dict[str, pa.Schema]:
    """Kind -> the fields of its records (t, node and kind not among them)."""
    return {kind: pa.schema([(name, arrow_type(of)) for name, of in record.fields.items()])
            for kind, record in record_kinds().items()}


def table_schema(kind: str) -> pa.Schema:
    """The columns of a kind's table: `t`, `node`, `line`, then the fields."""
    return pa.schema([*list(_HEAD)[:2], pa.field("line", LINE), *schemas()[kind]])


def parse(lines: Lines) -> Parsed:
    """Every line read and checked."""
    count = len(lines.text)
    t, node, kind = np.full(count, np.nan), np.full(count, -2, dtype=np.int64), np.full(count, None, dtype=object)
    for table, at in _rows(lines.text, np.arange(count), _HEAD):
        whole = _whole(table)
        at, table = at[whole.to_numpy(zero_copy_only=False)], table.filter(whole)
        t[at], node[at], kind[at] = table["t"], table["node"], table["kind"].to_numpy()
    astray = (node != lines.owner) & (node != -2)
    kind[astray] = None
    tables, odd = {}, Counter[str]()
    for name in sorted(set(kind) & schemas().keys()):
        mine = np.flatnonzero(kind == name)
        tables[name], kept = _records(name, lines, mine, t, node, odd)
        kind[np.setdiff1d(mine, kept, assume_unique=True)] = None
    return Parsed(t, node, kind, astray, tables, odd)


def _whole(heads: pa.Table) -> pa.ChunkedArray:
    """Whether a line has the fields that every record has; false for NaN."""
    t, node = heads["t"], heads["node"]
    return pc.fill_null(pc.and_(pc.and_(pc.and_(pc.greater_equal(t, 0.0), pc.less_equal(t, LATEST)), pc.and_(
        pc.greater_equal(node, -1), pc.less_equal(node, MOST_NODES))), pc.is_valid(heads["kind"])), False)


def _records(kind: str, lines: Lines, mine: np.ndarray, t: np.ndarray, node: np.ndarray,
             odd: Counter[str]) -> tuple[pa.Table, np.ndarray]:
    """The table of one kind from the lines `mine`, and which of these are in it. What is `odd` of them is counted."""
    fields = record_kinds()[kind].fields.items()
    found: list[pa.Table] = []
    kept = [np.zeros(0, dtype=np.int64)]
    text, schema = [lines.text[place] for place in mine], pa.schema([*_HEAD, *schemas()[kind]])
    whole = _read(text, schema, "error")  # None also where a field is not of the kind
    for table, at in _halved(text, mine, schema) if whole is None else [(whole, mine)]:
        sound = pa.array(np.ones(len(at), dtype=bool))
        for name, of in fields:
            sound = pc.and_(sound, pc.fill_null(_good(name, of, table[name].combine_chunks()), of.nullable))
        found.append(table.filter(sound))
        kept.append(at[sound.to_numpy(zero_copy_only=False)])
        if whole is None or _lacking(kind, table, text):
            _count_odd(kind, [lines.text[place] for place in kept[-1]], odd)
    at = np.concatenate(kept)
    where = pa.StructArray.from_arrays([pa.array(lines.block[at]), pa.array(lines.row[at])], fields=list(LINE))
    body = pa.concat_tables(found).columns[len(_HEAD):] if found else [pa.array([], of.type) for of in schemas()[kind]]
    return pa.table([pa.array(t[at]), pa.array(node[at]), where, *body], schema=table_schema(kind)), at


def _lacking(kind: str, table: pa.Table, text: Sequence[bytes]) -> bool:
    """Whether the lines may leave out fields of their kind, as null may not be written with spaces either."""
    joined = b""
    for name in schemas()[kind].names:
        if nulls := table[name].null_count:
            joined = joined or b"\n".join(text)
            if joined.count(b'"%s":null' % name.encode()) < nulls:
                return True
    return False


def _count_odd(kind: str, lines: Iterable[bytes], odd: Counter[str]) -> None:
    """Count in which ways the fields of records are not those of their kind."""
    known: set[str] = set()
    for line in lines:
        if what := _not_as_known(kind, json.loads(line)):
            if len(known) < MOST_ODD:  # a file may have a new one in each line
                known.add(what)
            odd[what if what in known else f"{kind} otherwise"] += 1


def _not_as_known(kind: str, record: dict[str, Any]) -> str | None:
    told = [re.sub(r"\[\d+\]", "[]", fault.removeprefix(f"{kind}.")) for fault in faults(record)]
    for end, word in ((": no such field", "has"), (": is missing", "lacks")):
        names = list(dict.fromkeys(fault.removesuffix(end)[:LONGEST_NAME] for fault in told if fault.endswith(end)))
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            return f"{kind} {word} {', '.join(names[:3])}{more}"
    return None


def _good(name: str, of: RecordType, values: pa.Array) -> pa.Array:
    """Whether values are complete, an id can be one of a host, and a name of a link or event has the form of
    ids.py; null for null."""
    if of.kind == "int" and name in HOSTS:
        return pc.and_(pc.greater_equal(values, 0), pc.less_equal(values, MOST_NODES))
    if of.kind == "int":
        least, most = RANGES.get(name, (0, MOST_COUNT))
        return pc.and_(pc.greater_equal(values, least), pc.less_equal(values, most))
    if of.kind == "float":
        return pc.and_(pc.is_finite(values), pc.and_(pc.greater_equal(values, LEAST.get(name, -math.inf)),
                                                     pc.less_equal(values, MOST.get(name, math.inf))))
    if of.kind == "text" and name in FORMS:
        return pc.match_substring_regex(values, FORMS[name])
    good = pc.if_else(pc.is_valid(values), True, None)
    if of == _VALUE:
        told = reduce(pc.add, [pc.is_valid(pc.struct_field(values, part)).cast(pa.int8()) for part, _ in of.fields])
        return pc.if_else(pc.is_valid(values), pc.and_(pc.equal(told, 1), _whole_struct(values, of.fields)), None)
    if of.kind == "struct":
        return pc.if_else(pc.is_valid(values), _whole_struct(values, of.fields), None)
    if of.kind == "list":
        inner = pc.fill_null(_good(name, of.items[0], pc.list_flatten(values)), of.items[0].nullable)
        bad = pc.filter(pc.list_parent_indices(values), pc.invert(inner))
        return pc.if_else(pc.is_in(pa.array(np.arange(len(values)), bad.type), bad), False, good)
    return good


def _whole_struct(structs: pa.Array, fields: Iterable[tuple[str, RecordType]]) -> pa.Array:
    whole = pc.is_valid(structs)
    for name, of in fields:
        whole = pc.and_(whole, pc.fill_null(_good(name, of, pc.struct_field(structs, name)), of.nullable))
    return whole


def _rows(lines: Sequence[bytes], places: np.ndarray, schema: pa.Schema) -> list[tuple[pa.Table, np.ndarray]]:
    """The lines that are objects whose fields have the types of `schema`, and their places. A field may be missing."""
    objects = [place for place, line in enumerate(lines) if line[:1] == b"{" and line[-1:] == b"}"]
    if len(objects) < len(lines):
        lines, places = [lines[place] for place in objects], places[objects]
    if _GLUED.search(b"\n".join(lines)):
        single = [place for place, line in enumerate(lines) if _single(line)]
        lines, places = [lines[place] for place in single], places[single]
    return _halved(lines, places, schema)


def _single(line: bytes) -> bool:
    """Whether it is one JSON value and nothing behind it."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _halved(lines: Sequence[bytes], places: np.ndarray, schema: pa.Schema) -> list[tuple[pa.Table, np.ndarray]]:
    if not lines:
        return []
    table = _read(lines, schema, "ignore")
    if table is not None:
        return [(table, places)]
    middle = len(lines) // 2
    if not middle:
        return []
    return _halved(lines[:middle], places[:middle], schema) + _halved(lines[middle:], places[middle:], schema)


def _read(lines: Sequence[bytes], schema: pa.Schema, unexpected: str) -> pa.Table | None:
    """A row a line, or None where one of them is not as `schema` says; `unexpected`: what to do with other fields."""
    text = b"\n".join(lines)
    try:
        table = pa.json.read_json(pa.BufferReader(text), pa.json.ReadOptions(use_threads=False, block_size=len(text) + 1),
                                  pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected))
    except pa.ArrowInvalid:
        return None
    return table if len(table) == len(lines) else None
