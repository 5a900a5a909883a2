"""The lines that a node and its local programs exchange over the control socket: both ends' code.

JSON objects, one a line, UTF-8. A program asks, one line a request, and is answered in order:

    {"do": "subscribe", "filter": TEXT}        {"ok": true, "filter": TEXT in its canonical form}
    {"do": "unsubscribe", "filter": TEXT}      {"ok": true}
    {"do": "publish", "attributes": {NAME: VALUE, ...}, "payload": BASE64?}
                                               {"ok": true, "event": "source.epoch.sequence"}
    anything that cannot be done               {"ok": false, "error": SENTENCE}

The node begins with {"roamcast": 1, "node", "epoch", "client"}, and between the answers tells of events:
{"event", "attributes", "payload": BASE64, "hops", "published": s of the publisher's run, "recovered": whether it
came late, from another's cache or a former broker, maybe behind later ones of its publisher}, and of those that it
had to drop because the program read too slowly: {"lost": number since the last such line}.
A value is text, a number, true or false, or bytes as {"bytes": BASE64}.
"""
from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping

PROTOCOL = 1
LONGEST = 1 << 18  # bytes of one line: an event with all its bounds used up, in base64 and escapes, fits


class BadLine(ValueError):
    """A line that says nothing this protocol knows; the text is a sentence."""


def encode(line: Mapping[str, object]) -> bytes:
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def decode(raw: bytes) -> dict:
    """One line as an object. Raises BadLine."""
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        line = None
    if not isinstance(line, dict):
        raise BadLine("not a JSON object on one line")
    return line


def attributes_out(attributes: Mapping[str, object]) -> dict[str, object]:
    return {name: {"bytes": binary_out(value)} if isinstance(value, bytes | bytearray) else value
            for name, value in attributes.items()}


def attributes_in(found: object) -> dict[str, object]:
    """The attributes of a line; their names and values are checked by whoever publishes them. Raises BadLine."""
    if not isinstance(found, dict):
        raise BadLine('"attributes" is an object of names and values')
    return {name: _value_in(name, value) for name, value in found.items()}


def _value_in(name: str, value: object) -> object:
    if isinstance(value, dict):
        if set(value) != {"bytes"}:
            raise BadLine(f'attribute {name!r}: bytes are {{"bytes": BASE64}}')
        return binary_in(f"attribute {name!r}", value["bytes"])
    if not isinstance(value, str | int | float):
        raise BadLine(f"attribute {name!r}: a value is text, a number, true, false or bytes")
    return value


def binary_out(data: bytes) -> str:
    return base64.b64encode(data).decode()


def binary_in(what: str, text: object) -> bytes:
    try:
        if isinstance(text, str):
            return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        pass
    raise BadLine(f"{what}: not base64")
