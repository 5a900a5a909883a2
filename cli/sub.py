"""`roamcast sub`: print the events that match, one JSON object a line, until Ctrl-C."""
from __future__ import annotations

import argparse
from collections.abc import Iterator

from cli.hosts import AtNode, add_node, control_of

MOST_BYTES = 4  # that somebody may have meant for a number
HELP = "print matching events, received through a node"


class Arguments(AtNode):
    filters: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_node(parser)
    parser.add_argument("filters", nargs="+", metavar="FILTER", help="""filter, such as 'kind = "temp" and value > 30' (docs/filters.md)""")


def run(args: Arguments) -> int:
    """Ends with 0 at Ctrl-C and with 2 when the node goes away."""
    import json
    import sys

    from cli.errors import UserError
    from node.client import Client, ClientError
    from node.lines import attributes_out

    lost = 0

    def tell(events: int) -> None:
        nonlocal lost
        lost += events
        print(f"{_events(events)} lost here: read too slowly ({lost:,} in all)", file=sys.stderr, flush=True)

    try:
        with Client(control_of(args), on_lost=tell) as client:
            for text in args.filters:
                taken = client.subscribe(text)
                print(f"subscribed: {taken}", file=sys.stderr, flush=True)
                for doubt in doubts(taken):
                    print(f"roamcast: {doubt}", file=sys.stderr, flush=True)
            while True:
                event = client.receive()
                assert event is not None  # it waits for ever
                print(json.dumps({"event": event.id, "attributes": attributes_out(event.attributes),
                                  "bytes": len(event.payload), "hops": event.hops,
                                  "published": event.published, "recovered": event.recovered}, ensure_ascii=False), flush=True)
    except ClientError as error:
        raise UserError(str(error)) from None
    except KeyboardInterrupt:
        return 0
    finally:
        if lost:
            print(f"{_events(lost)} lost in all", file=sys.stderr, flush=True)


def doubts(text: str) -> Iterator[str]:
    """What somebody may have meant otherwise: a filter that no event satisfies, bytes for a number."""
    from node.filters import never, parse

    wanted = parse(text)
    if why := never(wanted):
        yield f"no event can ever match it: {why}"
    for value in (value for constraint in wanted for value in constraint.values if isinstance(value, bytes)):
        if 0 < len(value) <= MOST_BYTES:
            yield f"0x{value.hex()} is {len(value)} byte{'' if len(value) == 1 else 's'}; the number is {int(value.hex(), 16)}"


def _events(number: int) -> str:
    return "1 event" if number == 1 else f"{number:,} events"
