"""No tree: for routing that needs none (node/routing/flooding.py). Every node stands alone."""
from __future__ import annotations

from node.seams import TreeStatus
from node.trees import Surroundings
from node.trees.still import Still


class NoTree(Still):
    def __init__(self, around: Surroundings) -> None:
        super().__init__()
        self._me = around.station.me.node
        self.root_path = (self._me,)

    def status(self) -> TreeStatus:
        return TreeStatus(self._me, 0, None, False)
