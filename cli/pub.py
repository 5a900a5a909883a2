"""`roamcast pub`: publish one event through the node of this host and print its id."""
from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

from cli.hosts import AtNode, add_node, control_of

LONGEST_SHOWN = 60  # characters of what was typed
HELP = "publish an event through a node"


class Arguments(AtNode):
    synced: bool
    attributes: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_node(parser)
    parser.add_argument("--synced", action="store_true",
                        help="return only when the node's record is on disk, safe from a power cut")
    parser.add_argument("attributes", nargs="+", metavar="NAME=TEXT | NAME:=NUMBER | NAME:=true",
                        help='attributes of the event: kind=temp value:=31 open:=false note="two words"')


def run(args: Arguments) -> int:
    import sys

    from cli.errors import UserError
    from node.client import Client, ClientError

    attributes = parse_attributes(args.attributes)
    for note in doubts(attributes):
        print(f"roamcast: {note}", file=sys.stderr)
    try:
        with Client(control_of(args)) as client:
            print(client.publish(attributes, synced=args.synced))
            if client.unrecorded:
                print("roamcast: the event is published, but the node could not record it (is its disk full?)",
                      file=sys.stderr)
    except ClientError as error:
        raise UserError(str(error)) from None
    return 0


def doubts(attributes: Mapping[str, object]) -> Iterator[str]:
    """What somebody may have meant otherwise: no filter for a number matches a text."""
    import json

    for name, value in attributes.items():
        if name != name.strip():
            yield f"the name {json.dumps(name)} has blanks at an end; write {name.strip()}=... in one word"
        if not isinstance(value, str) or len(value) > LONGEST_SHOWN:
            continue
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            yield f"{name}={value} is text with its quotes; write {name}={value[1:-1]} for the text without them"
        if value.startswith("="):
            yield f"{name}={value} is the text {json.dumps(value)}; write {name}{value} for the text without the second ="
        try:
            typed = isinstance(json.loads(value), int | float)
        except (ValueError, RecursionError):
            typed = False
        if typed:
            what = f"the value {value.strip()}" if value.strip() in ("true", "false") else "the number"
            yield f"{name}={value} is text; write {name}:={value.strip()} for {what}"


def _held(word: str, number: str) -> float:
    """A number with a fraction, unless it would become another one. Raises UserError."""
    from cli.errors import UserError
    from node.schema.numbers import beyond_doubles

    if beyond_doubles(number):
        raise UserError(f"{_shown(word)}: a number cannot hold all these digits and would be {float(number)!r}; write that, or text")
    return float(number)


def _shown(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN - 3] + "..."


def parse_attributes(words: list[str]) -> dict[str, str | int | float | bool]:
    """`name=text` and `name:=value` with a JSON number, true or false. Raises UserError."""
    from cli.errors import UserError

    attributes: dict[str, str | int | float | bool] = {}
    for word in words:
        name, equals, text = word.partition("=")
        typed = name.endswith(":")
        name = name.removesuffix(":") if typed else name
        if not equals or not name:
            meant = _shown(word.strip("=:") if not name else word) or "name"
            raise UserError(f"{_shown(word)}: not an attribute; write {meant}=TEXT or {meant}:=NUMBER")
        if name in attributes:
            raise UserError(f"{name}: given twice; an event has one value a name")
        attributes[name] = _value(word, name, text) if typed else text
    return attributes


def _value(word: str, name: str, text: str) -> int | float | bool:
    """What is behind := in `word`. Raises UserError."""
    import json
    import math

    from cli.errors import UserError

    value: object = None
    try:
        value = json.loads(text, parse_float=lambda number: _held(word, number))
    except (ValueError, RecursionError):
        pass  # neither a number nor a truth
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{_shown(word)}: a number is finite; give another, or text as {_shown(name)}={_shown(text)}")
    if not isinstance(value, int | float):
        raise UserError(f"{_shown(word)}: := takes a number, true or false; for text write {_shown(name)}={_shown(text)}")
    return value
