"""`roamcast` with the stations of wired_stations.py in place of Mininet-WiFi's: python -m tests.emulation.wired run ..."""
from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from cli.main import main
from emulation.realtime.caller import RealTimeWorld
from emulation.worlds.mininet import network, world

network.python = lambda: sys.executable
network.DRIVER = Path(__file__).with_name("wired_stations.py")
world.WORLD = RealTimeWorld(dataclasses.replace(world.FABRIC, check=lambda: None))

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
