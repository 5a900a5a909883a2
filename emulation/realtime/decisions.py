"""captures/medium.jsonl: what became of each try of each frame, a line each.

    {"t", "from", "to" (null: broadcast), "bytes", "try", "delivered": [..], "lost": [..],
     "collided": [..], "out_of_range": [..]}

`t` is when the try began; for a broadcast those out of range are all that are not named.
"""
from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from emulation.medium import Transmission
from emulation.records import AppendOnly


class Decisions:
    """Writes the file; `tried` is for the medium to tell."""

    def __init__(self, path: Path) -> None:
        self.file = AppendOnly(path)

    def tried(self, transmission: Transmission, arrived: Sequence[int]) -> None:
        frame = transmission.frame
        to, receivers, spoiled = frame.destination, transmission.receivers, transmission.spoiled or ()
        meant = receivers if to is None else (to,) if to in receivers else ()
        failed = [host for host in meant if host not in arrived] if len(arrived) < len(meant) else ()
        line = {"t": round(transmission.start, 9), "from": frame.sender, "to": to,
                "bytes": len(frame.payload), "try": frame.tries, "delivered": arrived,
                "lost": [host for host in failed if host not in spoiled], "collided": [host for host in failed if host in spoiled]}
        if to is not None and not meant:
            line["out_of_range"] = [to]
        self.file.append(json.dumps(line, separators=(",", ":")).encode() + b"\n")
