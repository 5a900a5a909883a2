"""The world itself: what the hosts' devices are, and who stands in the medium's place."""
from __future__ import annotations

from emulation.realtime.caller import RealTimeWorld
from emulation.realtime.plan import Fabric
from emulation.worlds.mininet import medium, network, station

FABRIC = Fabric(network.check, station.make, medium.Air, network.begin, inside=True, switches=True, edge=0.03)
WORLD = RealTimeWorld(FABRIC)
