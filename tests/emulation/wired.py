"""`roamcast` with the stations of wired_stations.py in place of Mininet-WiFi's: python -m tests.emulation.wired run ..."""
from __future__ import annotations

import sys
from pathlib import Path

from cli.main import main
from emulation.worlds.mininet import medium, network

network.python = lambda: sys.executable
network.DRIVER = Path(__file__).with_name("wired_stations.py")
medium.DEVICE = medium.DEVICE._replace(check=lambda: None)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
