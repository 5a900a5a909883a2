"""The worlds in which nodes run, a folder each, and the table of them by name.

A world is loaded when it is asked for: the simulator needs nothing of Linux.
"""
from __future__ import annotations

from collections.abc import Callable

from emulation.world import World


def named(name: str) -> World:
    """The world of that name. Raises KeyError."""
    return WORLDS[name]()


def _sim() -> World:
    from emulation.worlds.sim.world import WORLD

    return WORLD


def _netns() -> World:
    from emulation.worlds.netns.world import WORLD

    return WORLD


def _hwsim() -> World:
    from emulation.worlds.hwsim.world import WORLD

    return WORLD


def _mininet() -> World:
    from emulation.worlds.mininet.world import WORLD

    return WORLD


WORLDS: dict[str, Callable[[], World]] = {"sim": _sim, "netns": _netns, "hwsim": _hwsim, "mininet": _mininet}
