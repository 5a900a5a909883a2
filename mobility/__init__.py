"""Where hosts are and when: models of movement, trace files, positions, contacts."""

from mobility.contacts import CONTACT, TooDense
from mobility.movement import Movement
from mobility.textfile import TraceError
from mobility.trace import FORMATS, OPTIONS, format_of, looks_like, read, write
from mobility.trajectory import Trajectory
from mobility.waypoint import random_waypoint

__all__ = [
    "CONTACT",
    "FORMATS",
    "OPTIONS",
    "Movement",
    "TooDense",
    "TraceError",
    "Trajectory",
    "format_of",
    "looks_like",
    "random_waypoint",
    "read",
    "write",
]
