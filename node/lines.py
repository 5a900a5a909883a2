"""The lines that a node and its local programs exchange over the control socket: both ends' code.

JSON objects, one a line, UTF-8. A program asks, one line a request, and is answered in order:

    {"do": "subscribe", "filter": TEXT}        {"ok": true, "filter": TEXT in its canonical form}
    {"do": "unsubscribe", "filter": TEXT}      {"ok": true}
    {"do": "publish", "attributes": {NAME: VALUE, ...}, "payload": BASE64?, "synced": true?}
                                               {"ok": true, "event": "source.epoch.sequence"}
    {"do": "settle", "within": SECONDS}        {"ok": true, "settled": whether, "neighbors": NUMBER}
    anything that cannot be done               {"ok": false, "error": SENTENCE}

`ok` to a publication says that it is accepted and that its record is with the operating system: a node that is killed
loses none, a power cut may. (Where that failed, on a full disk, the answer says "recorded": false.) With "synced" it
comes when the record is on the disk, and says so. `ok` to an unsubscription says in "held" whether there was anything
to take back. `settle` is answered when every tree neighbor has acknowledged what it was told of filters, or SECONDS
have passed.

The node begins with {"roamcast": 1, "node", "epoch", "client"}, or with {"ok": false, "error"} where it has no room
for one more program, and between the answers tells of events:
{"event", "attributes", "payload": BASE64, "hops", "published": s of the publisher's run, "recovered": whether it
came late, from another's cache or a former broker, maybe behind later ones of its publisher}, and of those that it
had to drop because the program read too slowly, in their place: {"lost": how many here, "lost_in_all": how many so
far}. A key that a request does not know, or that it has twice, is a fault.
A value is text, a number, true or false, or bytes as {"bytes": BASE64}.
"""
from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

PROTOCOL = 1
LONGEST_WAIT = 60.0  # s
LONGEST = 1 << 18  # bytes of one line: an event with all its bounds used up, in base64 and escapes, fits


class BadLine(ValueError):
    """A line that says nothing this protocol knows; the text is a sentence."""


def encode(line: Mapping[str, object]) -> bytes:
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def decode(raw: bytes) -> dict[str, Any]:
    """One line as an object. Raises BadLine."""
    try:
        line = json.loads(raw, object_pairs_hook=_once)
    except BadLine:
        raise
    except (ValueError, RecursionError):
        line = None
    if not isinstance(line, dict):
        raise BadLine("not a JSON object on one line")
    return line


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for k, (key, _) in enumerate(pairs) if key in dict(pairs[:k]))
        raise BadLine(f"{twice!r} stands there twice")
    return found


# What each request takes besides "do": its type, and whether it must be there.
_REQUESTS: dict[str, dict[str, tuple[type, bool]]] = {"subscribe": {"filter": (str, True)}, "unsubscribe": {"filter": (str, True)},
             "publish": {"attributes": (dict, True), "payload": (str, False), "synced": (bool, False)},
             "settle": {"within": (float, True)}}
_CALLED = {str: "a text", dict: "an object of names and values", bool: "true or false", float: "a number of seconds"}


def check(request: Mapping[str, Any]) -> None:
    """Whether it is a request as above, nothing more and nothing less. Raises BadLine."""
    what = request.get("do")
    keys = _REQUESTS.get(what) if isinstance(what, str) else None
    if keys is None:
        raise BadLine(f'"do" is one of {", ".join(_REQUESTS)}')
    for key, value in request.items():
        if key != "do" and key not in keys:
            raise BadLine(f'"{what}" takes no {key!r}; it takes {" and ".join(keys)}')
        wanted = keys[key][0] if key != "do" else str
        if wanted is float and type(value) is int:
            continue
        if type(value) is not wanted:
            raise BadLine(f'"{what}" takes "{key}", {_CALLED[wanted]}')
    for key, (wanted, needed) in keys.items():
        if needed and key not in request:
            raise BadLine(f'"{what}" takes "{key}", {_CALLED[wanted]}')
    if what == "settle" and not 0 <= request["within"] <= LONGEST_WAIT:
        raise BadLine(f'"within" is a number of seconds from 0 to {LONGEST_WAIT:g}')


def attributes_out(attributes: Mapping[str, object]) -> dict[str, object]:
    return {name: {"bytes": binary_out(bytes(value))} if isinstance(value, bytes | bytearray) else value
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
    """The bytes that a text of base64 says. Raises BadLine, also for one that would be written otherwise: bits that are
    not zero behind the last byte belong to bytes that are not there."""
    try:
        if isinstance(text, str) and binary_out(data := base64.b64decode(text, validate=True)) == text:
            return data
    except (binascii.Error, ValueError):
        pass
    raise BadLine(f"{what}: not base64")
