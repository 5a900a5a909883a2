"""The scenario's table [node] has the keys, types and defaults of the node's own configuration."""

from __future__ import annotations

import dataclasses
from typing import get_args

import topologies
from node import trees
from node.broker import FLUSHES, RECONCILERS, STRATEGIES, TREES
from node.config import NodeConfig
from topologies import check
from topologies.scenario import Node


def test_keys_and_defaults_agree():
    ours = {name: field.default for name, field in Node.model_fields.items()}
    theirs = {field.name: field.default for field in dataclasses.fields(NodeConfig)}
    assert ours == theirs
    assert {name: type(value) for name, value in ours.items()} == {
        name: type(v) for name, v in theirs.items()
    }


def test_a_loaded_table_makes_a_configuration(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(
        '[run]\nduration = 60\n[mobility]\nmodel = "static"\npositions = [[0, 0]]\n'
        "[node]\nhello_interval = 2\n"
    )
    node = topologies.load(path).node
    assert NodeConfig(**node.model_dump()) == NodeConfig(hello_interval=2.0)


def test_parts_have_the_same_names_and_needs():
    assert check.SUPPLIES == trees.SUPPLIES
    assert check.TREE_SUPPLIES == {name: tree.supplies for name, tree in TREES.items()}
    assert check.RECONCILE_NEEDS == {name: part.needs for name, part in RECONCILERS.items()}
    assert check.STRATEGY_NEEDS == {name: part.needs for name, part in STRATEGIES.items()}
    parts = {"tree": TREES, "reconcile": RECONCILERS, "strategy": STRATEGIES, "flush": FLUSHES}
    for key, names in parts.items():
        assert get_args(Node.model_fields[key].annotation) == tuple(names)
