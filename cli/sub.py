"""`roamcast sub`: print the events that match, one JSON object a line, until Ctrl-C."""
from __future__ import annotations

import argparse

from cli.hosts import add_node, control_of

HELP = "print matching events, received through a node"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_node(parser)
    parser.add_argument("filters", nargs="+", metavar="FILTER", help="""such as 'kind = "temp" and value > 30' (docs/filters.md)""")


def run(args: argparse.Namespace) -> int:
    """Ends with 0 at Ctrl-C and with 2 when the node goes away."""
    import json
    import sys

    from cli.errors import UserError
    from node.client import Client, ClientError
    from node.filters import never, parse
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
                if why := never(parse(taken)):
                    print(f"roamcast: no event can ever match it: {why}", file=sys.stderr, flush=True)
            while True:
                event = client.receive()
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


def _events(number: int) -> str:
    return "1 event" if number == 1 else f"{number:,} events"
