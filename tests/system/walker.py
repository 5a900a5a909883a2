"""A program on a device: subscribes, publishes, and writes down what comes until it is ended (test_roaming_netns.py)."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from roamcast import RoamingClient


def main(out: Path) -> None:
    print(time.time(), flush=True)  # into the run's programs/N.log
    host = int(os.environ["ROAMCAST_HOST"])
    client = RoamingClient(os.environ["ROAMCAST_INTERFACE"], id=host, records=out.with_suffix(".records"))
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=client.close).start())
    client.subscribe('kind = "temp"')

    def publish() -> None:
        for number in range(1000):
            time.sleep(0.5)
            try:
                client.publish({"kind": "walk", "number": number})
            except Exception:
                return  # it is closed

    threading.Thread(target=publish, daemon=True).start()
    with out.open("w", buffering=1) as file:
        for event in client:
            file.write(json.dumps([event.id, event.recovered]) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
