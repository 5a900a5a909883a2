"""`roamcast pub`: publish events through the node of this host and print their ids."""
from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TextIO

from cli.hosts import AtNode, add_node, control_of, unreachable

if TYPE_CHECKING:
    from node.client import Client

LONGEST_SHOWN = 60  # characters of what was typed
HELP = "publish events through a node"

Attributes = dict[str, str | int | float | bool]


class Arguments(AtNode):
    synced: bool
    lines: bool
    as_json: bool
    attributes: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_node(parser)
    parser.add_argument("--synced", action="store_true",
                        help="return only when the node's record is on disk, safe from a power cut")
    parser.add_argument("-l", dest="lines", action="store_true",
                        help="publish an event for each line of standard input: attributes as here, or a JSON object; those given here "
                             "are added to each")
    parser.add_argument("--json", dest="as_json", action="store_true", help='print {"event": ID, "recorded": true} instead of the id')
    parser.add_argument("attributes", nargs="*", metavar="NAME=TEXT | NAME:=NUMBER | NAME:=true",
                        help='attributes of the event: kind=temp value:=31 open:=false note="two words"')
    parser.epilog = "Exit codes: 0 published, 2 not published (an attribute, the node); with -l, 2 at the first bad line, which it names."


def run(args: Arguments) -> int:
    import sys

    from cli.errors import UserError
    from node.client import Client, ClientError

    common = parse_attributes(args.attributes)
    if not common and not args.lines:
        raise UserError("found no attribute; give one, such as kind=temp, or -l to read lines")
    for note in doubts(common):
        print(f"roamcast: {note}", file=sys.stderr)
    try:
        with Client(control_of(args)) as client:
            for attributes in events(common, sys.stdin) if args.lines else (common,):
                _publish(client, attributes, args)
    except ClientError as error:
        raise UserError(unreachable(args, error)) from None
    return 0


def _publish(client: Client, attributes: Attributes, args: Arguments) -> None:
    import json
    import sys

    before = client.unrecorded
    event = client.publish(attributes, synced=args.synced)
    recorded = client.unrecorded == before
    print(json.dumps({"event": event, "recorded": recorded}) if args.as_json else event, flush=args.lines)
    if not recorded:
        print("roamcast: the event is published, but the node could not record it (is its disk full?)", file=sys.stderr)


def events(common: Attributes, lines: TextIO) -> Iterator[Attributes]:
    """The event of each line, as it comes; blank lines are none. Raises UserError, which names the line."""
    from cli.errors import UserError

    try:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                own = _object(line) if line.lstrip().startswith("{") else parse_attributes(_words(line))
                if twice := common.keys() & own.keys():
                    raise UserError(f"{min(twice)}: given twice; an event has one value a name")
            except UserError as error:
                raise UserError(f"line {number}: {error}; the lines before it are published") from None
            yield common | own
    except UnicodeDecodeError:
        raise UserError("standard input: found a line that is not UTF-8; give text") from None


def _words(line: str) -> list[str]:
    import shlex

    from cli.errors import UserError

    try:
        return shlex.split(line)
    except ValueError as error:
        raise UserError(f"{_shown(line.strip())}: {str(error).lower()}; close the quotes") from None


def _object(line: str) -> Attributes:
    """The attributes of a JSON object. Raises UserError."""
    import json
    import math

    from cli.errors import UserError

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise UserError(f"{_shown(line.strip())}: a name twice; an event has one value a name")
        return found

    try:
        found = json.loads(line, parse_float=lambda number: _held(line.strip(), number), object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise UserError(f'{_shown(line.strip())}: not a JSON object; write {{"kind": "temp", "value": 31}}') from None
    if not isinstance(found, dict) or not found:
        raise UserError(f"{_shown(line.strip())}: no attributes; an event has one at least")
    for name, value in found.items():
        if not isinstance(value, str | int | float) or isinstance(value, float) and not math.isfinite(value):
            raise UserError(f"{_shown(name)}: found {_shown(json.dumps(value))}; give a text, a finite number, true or false")
    return found


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


def parse_attributes(words: list[str]) -> Attributes:
    """`name=text` and `name:=value` with a JSON number, true or false. Raises UserError."""
    from cli.errors import UserError

    attributes: Attributes = {}
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
