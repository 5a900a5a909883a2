"""What a program of your own imports: `from roamcast import Client`. Everything else is ours and may change.

    with Client("/run/roamcast/control.sock") as client:
        client.subscribe('kind = "temp" and value > 30')
        client.publish({"kind": "temp", "value": 31})
        for event in client:
            print(event.id, event.attributes)

A client of a node on this host needs the standard library alone. RoamingClient is its own device and needs what a node
needs, so it is loaded when it is asked for. Installed, this file is `roamcast/__init__.py` (setup.py).
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from node import __version__
from node.client import Client, ClientError, Received

__all__ = ["Client", "ClientError", "NodeConfig", "Received", "RoamingClient", "__version__"]

if TYPE_CHECKING:
    from node.config import NodeConfig
    from node.roaming.client import RoamingClient
else:
    def __getattr__(name):
        if name == "RoamingClient":
            from node.roaming.client import RoamingClient
            return RoamingClient
        if name == "NodeConfig":
            from node.config import NodeConfig
            return NodeConfig
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
