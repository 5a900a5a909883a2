"""The scenario's table [node] has the keys, types and defaults of the node's own configuration."""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest

import topologies
from cli.errors import UserError
from cli.pub import parse_attributes
from node import trees
from node.broker import FLUSHES, PLAIN, RECONCILERS, RECOVERIES, STRATEGIES, TREES
from node.config import LIMITS, SECRET, NodeConfig
from node.filters import FilterError, parse
from node.recovery import ALGORITHMS, EVICTIONS
from topologies import check
from topologies.scenario import Node


def test_keys_and_defaults_agree():
    ours = {name: field.default for name, field in Node.model_fields.items()}
    theirs = {field.name: field.default for field in dataclasses.fields(NodeConfig)}
    assert ours == theirs
    assert {name: type(value) for name, value in ours.items()} == {
        name: type(v) for name, v in theirs.items()
    }


HELD = {  # how a number with a fraction may be written, and whether that is what the nearest double holds
    "0.1": True, "2.500": True, "1e23": True, "0.10000000000000001": True, "123.45600000000000307": True, "3.14159265358979311600": True,
    "1.7976931348623157e308": True, "5e-324": True, "0.0": True, "-0.0": True, "9007199254740994.0": True, "1e16": True,
    "9007199254740993.0": False, "-9007199254740993.0": False, "3.14159265358979323846": False, "18446744073709551617.0": False,
    "1e-400": False, "1e-99999999999999999999": False, "0.30000000000000001665334536937734810635": False,
}


@pytest.mark.parametrize("text", HELD)
def test_scenarios_filters_and_the_command_line_take_the_same_numbers(text, tmp_path):
    """A number that would become another one is refused, wherever a person types it."""
    path = tmp_path / "x.toml"
    path.write_text("[run]\nduration = 60\n[hosts]\ncount = 2\n[mobility]\narea = [9, 9]\n"
                    f"[[workload.publish]]\nevent = {{ a = {text} }}\n")
    doors = [lambda: parse(f"a = {text}").constraints[0].values[0], lambda: parse_attributes([f"a:={text}"])["a"],
             lambda: topologies.load(path).workload.publish[0].event["a"]]
    for door in doors:
        if HELD[text]:
            assert door() == float(text)
            continue
        with pytest.raises((FilterError, UserError, topologies.ScenarioError), match="more digits|no more digits|so near to 0"):
            door()


def bounds(field) -> tuple[float, float]:
    """The least and the greatest that a field of the scenario takes."""
    low = [one.ge for one in field.metadata if getattr(one, "ge", None) is not None]
    high = [one.le for one in field.metadata if getattr(one, "le", None) is not None]
    return max(low), min(high)


def test_bounds_agree():
    numbers = {name: bounds(field) for name, field in Node.model_fields.items()
               if type(field.default) in (int, float)}
    assert numbers == LIMITS
    (longest,) = [one.max_length for one in Node.model_fields["secret"].metadata]
    assert longest == SECRET
    assert list(NodeConfig().faults()) == []


@pytest.mark.parametrize("table", [
    {"hello_up": 4, "hello_window": 3}, {"rto_initial": 0.6}, {"rto_min": 0.4}, {"rto_max": 0.25},
    {"hello_up": 3, "hello_window": 3}, {"rto_min": 0.3, "rto_max": 0.3}, {"ack_delay": 0.0},
    {"ack_delay": -0.1}, {"hello_interval": 0.0005}, {"channel_window": 65}])
def test_both_judge_a_table_alike(table, tmp_path):
    path = tmp_path / "x.toml"
    path.write_text('[run]\nduration = 60\n[mobility]\nmodel = "static"\npositions = [[0, 0]]\n[node]\n'
                    + "".join(f"{key} = {value!r}\n" for key, value in table.items()))
    faults = [key for key, _, _ in NodeConfig(**table).faults()]
    try:
        topologies.load(path)
        assert not faults
    except topologies.ScenarioError as error:
        assert faults and f"node.{faults[0]}" in str(error)


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
    assert check.PLAIN == PLAIN and NodeConfig().reconcile in PLAIN
    assert check.TAGGING == tuple(name for name, part in RECOVERIES.items() if part.tags)
    assert tuple(RECOVERIES) == ALGORITHMS
    parts = {"tree": TREES, "reconcile": RECONCILERS, "strategy": STRATEGIES, "flush": FLUSHES,
             "recovery": ("none", *ALGORITHMS), "cache_eviction": EVICTIONS}
    for key, names in parts.items():
        assert get_args(Node.model_fields[key].annotation) == tuple(names)
