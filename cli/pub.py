"""`roamcast pub`: publish one event through the node of this host and print its id."""
from __future__ import annotations

import argparse

from cli.hosts import add_node, control_of

HELP = "publish an event through this host's node"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_node(parser)
    parser.add_argument("--synced", action="store_true",
                        help="return when the node's record of it is on the disk, safe from a power cut too")
    parser.add_argument("attributes", nargs="+", metavar="NAME=TEXT | NAME:=NUMBER | NAME:=true",
                        help='what the event says: kind=temp value:=31 open:=false note="two words"')


def run(args: argparse.Namespace) -> int:
    import sys

    from cli.errors import UserError
    from node.client import Client, ClientError

    attributes = parse_attributes(args.attributes)
    try:
        with Client(control_of(args)) as client:
            print(client.publish(attributes, synced=args.synced))
            if client.unrecorded:
                print("roamcast: it is published, but the node could not write its record of it (its disk is full?)",
                      file=sys.stderr)
    except ClientError as error:
        raise UserError(str(error)) from None
    return 0


def parse_attributes(words: list[str]) -> dict[str, str | int | float | bool]:
    """`name=text` and `name:=value` with a JSON number, true or false. Raises UserError."""
    import json

    from cli.errors import UserError

    attributes = {}
    for word in words:
        name, equals, text = word.partition("=")
        typed = name.endswith(":")
        name = name.removesuffix(":") if typed else name
        if not equals or not name:
            raise UserError(f"{word}: not an attribute; write {word or 'name'}=TEXT or {word or 'name'}:=NUMBER")
        if name in attributes:
            raise UserError(f"{name}: given twice; an event has one value a name")
        value = text
        if typed:
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                value = None
            if not isinstance(value, int | float):
                raise UserError(f"{word}: := takes a number, true or false; for text write {name}={text}")
        attributes[name] = value
    return attributes
