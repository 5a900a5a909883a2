"""The simulator of the papers' evaluations: dispatchers on a given tree, links replaced on a schedule.

cugola-frey-murphy-picco-dynamic-topology, section V. No radio and no datagrams: FIFO links pass message
objects. Routing, reconciliation and forwarding are the node's own code, to the line.
"""
from __future__ import annotations

from emulation.studies.overlay.parameters import OverlayError, Parameters
from emulation.studies.overlay.run import run

__all__ = ["OverlayError", "Parameters", "run"]
