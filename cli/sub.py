"""`roamcast sub`: print the events that match, one JSON object a line, until Ctrl-C, a count or a time."""
from __future__ import annotations

import argparse
from collections.abc import Iterator

from cli.arguments import number, whole
from cli.hosts import AtNode, add_node, control_of, unreachable

MOST_BYTES = 4  # that somebody may have meant for a number
HELP = "print matching events, received through a node"


class Arguments(AtNode):
    filters: list[str]
    count: int | None
    seconds: float | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_node(parser)
    parser.add_argument("-C", dest="count", type=whole(1, 10**9, "events"), metavar="N", help="end after N events")
    parser.add_argument("-W", dest="seconds", type=number(0.001, 1e7, "seconds"), metavar="S", help="end S seconds after the subscription")
    parser.epilog = ("Exit codes: 0 ended by Ctrl-C, by -C, or by -W after an event if there is no -C; 1 ended by -W before that; 2 the node "
                     "cannot be reached, went away or refuses a filter. Each line is a JSON object.")
    parser.add_argument("filters", nargs="+", metavar="FILTER", help="""filter, such as 'kind = "temp" and value > 30' (docs/filters.md)""")


def run(args: Arguments) -> int:
    """0: Ctrl-C, or what was asked for came; 1: it did not come in time; 2: the node went away."""
    import json
    import sys
    import time

    from cli.errors import FAILED, UserError
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
            seen, deadline = 0, None if args.seconds is None else time.monotonic() + args.seconds
            while args.count is None or seen < args.count:
                event = client.receive(None if deadline is None else max(deadline - time.monotonic(), 0.0))
                if event is None or deadline is not None and time.monotonic() > deadline:
                    return 0 if seen and args.count is None else FAILED
                seen += 1
                print(json.dumps({"event": event.id, "attributes": attributes_out(event.attributes),
                                  "bytes": len(event.payload), "hops": event.hops,
                                  "published": event.published, "recovered": event.recovered}, ensure_ascii=False), flush=True)
            return 0
    except ClientError as error:
        raise UserError(unreachable(args, error)) from None
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
