"""Runs a scenario in the world it names and leaves a run directory behind.

Ctrl-C stops a run in order: what was recorded is kept. So does a full disk. The second Ctrl-C
does not wait.
"""
from __future__ import annotations

import gc
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import mobility
from emulation import rundir
from emulation.clock import Clock
from emulation.records import DiskFull
from emulation.rundir import RunDirectory
from emulation.sim import Simulation
from emulation.workload import Workload
from node import wire
from node.broker import Broker
from node.config import NodeConfig
from node.journal import JournaledBroker

EPOCH = 1_767_225_600.0  # 2026-01-01T00:00:00Z: the wall clock of virtual time 0, in captures
TICK = 1.0  # s between two records of the medium's traffic, and two reports of progress


class Progress(NamedTuple):
    """How far a run is: virtual or real seconds of `duration`, and the events so far."""

    now: float
    duration: float
    published: int
    delivered: int
