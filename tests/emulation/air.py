"""A medium over a few hosts, and what came out of it, for the tests of this room."""
from __future__ import annotations

from emulation.clock import Clock
from emulation.medium import Frame, Medium
from mobility import Movement, Trajectory
from topologies.scenario import LogDistanceRadio, RadioLink, UnitDiskRadio


def standing(*points: tuple[float, float], duration: float = 1000.0) -> Movement:
    """Hosts that stand still."""
    return Movement([f"h{i}" for i in range(len(points))],
                    [Trajectory([0.0], [point]) for point in points], duration)


def line(count: int, step: float = 100.0) -> Movement:
    """Hosts on a line, `step` meters apart."""
    return standing(*((step * i, 0.0) for i in range(count)))


class Air:
    """`got`: (time, receiver, sender, payload) in order; `records`: (time, kind, fields)."""

    def __init__(self, movement: Movement, seed: int = 1, model: str = "unit_disk", capture=None,
                 end: float | None = None, tried=None, done=None, **radio) -> None:
        self.clock = Clock()
        self.got: list[tuple[float, int, int, bytes]] = []
        self.records: list[tuple[float, str, dict]] = []
        radio["links"] = tuple(RadioLink(**{"from": a, "to": b, "loss": loss}) for a, b, loss in radio.get("links", ()))
        table = UnitDiskRadio(**radio) if model == "unit_disk" else LogDistanceRadio(**radio)
        self.medium = Medium(self.clock, movement, table, seed, self._deliver, self._record, end=end,
                             capture=capture, tried=tried, done=done)

    def at(self, time: float, sender: int, to: int | None, payload: bytes = b"x" * 100) -> None:
        self.clock.call_at(time, lambda: self.medium.transmit(sender, to, payload))

    def run(self, until: float = 10.0) -> Air:
        self.clock.run(until)
        return self

    def links(self) -> set[tuple[int, int]]:
        """The directions that the records say exist now."""
        found = set()
        for _, kind, fields in self.records:
            if kind == "radio_up":
                found.add((fields["from"], fields["to"]))
            elif kind == "radio_down":
                found.remove((fields["from"], fields["to"]))
        return found

    def _deliver(self, receiver: int, frame: Frame) -> None:
        self.got.append((self.clock.now(), receiver, frame.sender, frame.payload))

    def _record(self, kind: str, **fields) -> None:
        self.records.append((self.clock.now(), kind, fields))
