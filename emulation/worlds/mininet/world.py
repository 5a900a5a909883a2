"""The world itself: hosts are Mininet-WiFi's stations, and wmediumd carries their frames."""
from __future__ import annotations

from emulation.realtime.caller import RealTimeWorld
from emulation.realtime.plan import Fabric
from emulation.worlds.mininet import network, station
from emulation.worlds.mininet.carrier import Watcher

FABRIC = Fabric(network.check, station.make, Watcher, network.begin, inside=True, switches=True, edge=0.03)
WORLD = RealTimeWorld(FABRIC)
