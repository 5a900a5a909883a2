"""A program as a stranger writes it against what is installed; test_install.py runs it and has mypy read it."""
from __future__ import annotations

import sys

from roamcast import Client, ClientError, NodeConfig, Received, RoamingClient, __version__


def exchange(control: str) -> Received:
    with Client(control) as client:
        client.subscribe('kind = "temp" and value > 30')
        assert client.settle()
        published = client.publish({"kind": "temp", "value": 31}, b"payload")
        event = client.receive(30.0)
    assert event is not None and event.id == published
    return event


def walk(secret: str) -> None:
    with RoamingClient("wlan0", id=70, config=NodeConfig(secret=secret)) as client:
        client.subscribe("value > 30")


if __name__ == "__main__":
    try:
        event = exchange(sys.argv[1])
    except ClientError as error:
        sys.exit(str(error))
    print(__version__, event.attributes["value"], event.payload.decode(), "node" in sys.modules)
