"""What is swept: hosts at constant density, their speed, publications, and how many want an event."""
from __future__ import annotations

from emulation.studies.evaluation import Panel, Series, Sweep

PROTOCOLS = ("strawman", "timed", "notified", "informed", "path")
FLOOD = "flood"
SIZES = ("hosts", (25, 50, 100, 200))
SPEEDS = ("speed", (1, 2, 5, 10, 20))
RATES = ("publications", (1, 6, 30))
INTEREST = ("wanted", (5, 10, 50))

TREE = tuple(Series(name, {"protocol": name}) for name in PROTOCOLS)
FLOODING = Series(FLOOD, {"protocol": FLOOD})
BOUND = Series("bound", {"protocol": FLOOD}, "bound")
FEW = (TREE[0], TREE[1], TREE[3], FLOODING)


def panels(figure: str, about: str, sweep: Sweep, xlabel: str, tree: bool) -> tuple[Panel, ...]:
    """tree: all five protocols and what only a tree has; else what a tree costs and brings beside flooding."""
    def panel(letter: str, title: str, quantity: str, ylabel: str, series: tuple[Series, ...]) -> Panel:
        return Panel(figure, f"-{letter}", f"{title} and {about}", quantity, ylabel, sweep, xlabel, series, log=True, seed="run.seed")

    compared = (*TREE, FLOODING) if tree else FEW
    both = (panel("delivery", "Delivery", "delivered", "delivered (%)", (BOUND, *compared)),
            panel("bytes", "Bytes sent", "bytes", "bytes a host and second", compared),
            panel("airtime", "Radio time", "airtime", "ms on the air a host and second", compared),
            panel("saved", "Bytes saved", "saved", "fewer bytes than Strawman (%)", compared[1:]),
            panel("price", "Price of a delivery", "price", "bytes sent for a delivery", compared),
            panel("wrong", "", "wrong", "", compared)._replace(drawn=False),
            panel("healed", "", "healed", "", tuple(series for series in compared if series != FLOODING))._replace(drawn=False))
    if not tree:
        return both
    return (*both, panel("cost", "Overhead", "cost", "normalized cost a host and minute", TREE),
            panel("gain", "Overhead saved", "gain", "less than Strawman (%)", TREE[1:]),
            panel("misrouted", "Misrouted events", "misrouted", "misrouted event messages (%)", TREE),
            panel("involved", "Dispatchers involved", "involved", "dispatchers a lost link involves (%)", TREE),
            panel("losses", "", "losses", "", TREE)._replace(drawn=False))


PANELS = (*panels("hosts", "number of hosts (2 m/s)", SIZES, "hosts", True),
          *panels("speed", "speed (50 hosts)", SPEEDS, "speed (m/s)", True),
          *panels("rate", "publications (50 hosts, 2 m/s)", RATES, "publications a host and minute", False),
          *panels("interest", "how many want an event (50 hosts, 2 m/s)", INTEREST, "hosts that want an event (%)", False))
