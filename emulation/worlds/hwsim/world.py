"""The world itself: a host's device is a radio of mac80211_hwsim, and the radio model carries its frames."""
from __future__ import annotations

from emulation.realtime.caller import RealTimeWorld
from emulation.realtime.plan import Fabric
from emulation.worlds.hwsim import radio
from emulation.worlds.hwsim.ends import carrier

FABRIC = Fabric(radio.check, radio.make, carrier)
WORLD = RealTimeWorld(FABRIC)
