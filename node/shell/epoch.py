"""The boot epoch of a node: a state file stores it, and it grows at every start, with or without a clock."""
from __future__ import annotations

import json
import os
import time
from pathlib import Path

from node.ids import Epoch, NodeId
from node.shell import DaemonError, say

BORN = 1_672_531_200  # unix time: 2023; no clock that is right says less


def default_state(node: NodeId) -> Path:
    """The default path of a node's state file."""
    if os.geteuid() == 0:
        folder = Path("/var/lib/roamcast")
    else:
        folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state", "roamcast")
    return folder / f"node-{node}.json"


def next_epoch(path: Path, node: NodeId) -> Epoch:
    """Begin a new life: the last epoch plus one, on disk before it is used. Raises DaemonError.

    Without a state file, the clock gives the epoch, so that a node whose card was wiped still returns
    with a higher one. Without a plausible clock either, it is 1.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        last = _last_epoch(path, node)
        clock = int(time.time())
        epoch = max(last + 1, clock if last == 0 and clock < 2**32 - 2**20 else 1)
        if last == 0 and epoch < BORN:
            say(f"{path}: not found, and the clock is wrong: this life has epoch {epoch}; if this node ran before, other "
                "nodes will consider this life older; set the clock and start again")
        if epoch >= 2**32:
            raise DaemonError(f"{path}: epoch {last} is the largest possible; give the node another id")
        scratch = path.with_name(path.name + ".new")
        with scratch.open("w") as file:
            json.dump({"node": node, "epoch": epoch}, file)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise DaemonError(f"{path}: cannot store the boot epoch ({error.strerror}); "
                          "give another path for --state") from None
    return epoch


def _last_epoch(path: Path, node: NodeId) -> Epoch:
    """0 when there was none."""
    if not path.exists():
        return 0
    try:
        state = json.loads(path.read_bytes())
        owner, epoch = state["node"], state["epoch"]
        more = sorted(set(state) - {"node", "epoch"})
        if not (type(epoch) is int and 0 < epoch < 2**32):
            raise ValueError
    except (ValueError, TypeError, KeyError):
        raise DaemonError(f"{path}: not a node's state; remove it if you do not need it "
                          "(the clock then gives the next epoch)") from None
    if owner != node:
        raise DaemonError(f"{path}: found the state of node {owner}, not of {node}; give another path for --state")
    if more:
        say(f"{path}: found {', '.join(more)[:60]} besides node and epoch; it is ignored, and removed by this start")
    return epoch
