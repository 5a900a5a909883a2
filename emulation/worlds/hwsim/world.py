"""The world itself: what the hosts' devices are, and who stands in the medium's place."""
from __future__ import annotations

from emulation.realtime.caller import RealTimeWorld
from emulation.realtime.plan import Fabric
from emulation.worlds.hwsim import medium, radio

FABRIC = Fabric(radio.check, radio.make, medium.Air)
WORLD = RealTimeWorld(FABRIC)
