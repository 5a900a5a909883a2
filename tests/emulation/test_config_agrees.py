"""A scenario's table [node], a field node's file and the node judge a configuration alike, from node/schema/config.toml."""

from __future__ import annotations

import copy
import re
from itertools import combinations, product
from pathlib import Path

import pytest

import topologies
from cli.errors import UserError
from cli.pub import parse_attributes
from node import schema, settings
from node.broker import Broker
from node.config import NodeConfig
from node.filters import FilterError, parse
from node.schema import config
from topologies.scenario import Node

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
        with pytest.raises((FilterError, UserError, topologies.ScenarioError), match="more digits|cannot hold all these digits|too close to 0"):
            door()


SCENARIO = '[run]\nduration = 60\n[mobility]\nmodel = "static"\npositions = [[0, 0]]\n'
CHOICES = {name: list(key.choices) for name, key in config.keys().items() if key.choices}


def verdicts(table: dict[str, object], folder: Path) -> tuple[list[str], str]:
    """What a scenario's reader and a field node's say of a table [node], behind the file's name; the latter the first only."""
    text = "[node]\n" + "".join(f"{key} = {config._shown(value)}\n" for key, value in table.items())
    (folder / "x.toml").write_text(SCENARIO + text)
    (folder / "node.toml").write_text(text)
    try:
        node = topologies.load(folder / "x.toml").node
        assert NodeConfig(**node.model_dump()) == NodeConfig(**table)
        problems = []
    except topologies.ScenarioError as error:
        problems = [problem.removeprefix(f"{folder}/x.toml: ") for problem in error.problems]
    try:
        assert settings.read(folder / "node.toml").config == NodeConfig(**table)
        return problems, ""
    except settings.SettingsError as error:
        return problems, str(error).removeprefix(f"{folder}/node.toml: ")


@pytest.mark.parametrize("table", [
    {"hello_up": 4, "hello_window": 3}, {"rto_initial": 0.6}, {"rto_min": 0.4}, {"rto_max": 0.25},
    {"hello_up": 3, "hello_window": 3}, {"rto_min": 0.3, "rto_max": 0.3}, {"ack_delay": 0.0},
    {"ack_delay": -0.1}, {"hello_interval": 0.0005}, {"channel_window": 65}, {"secret": "x" * 1025}, {"hello_interval": 2.0}])
def test_both_judge_a_table_alike(table, tmp_path):
    faults = [key for key, _, _ in NodeConfig(**table).faults()]
    problems, problem = verdicts(table, tmp_path)
    assert [said.split(":")[0] for said in problems] == [f"node.{key}" for key in faults]
    assert problem.split(":")[0] == "".join(f"node.{key}" for key in faults[:1])


def sound(tree: str, reconcile: str, strategy: str, forwarding: str, recovery: str, **_: str) -> bool:
    """Whether these go together, as the design has it."""
    tables = strategy == "subscription"
    return ((tree == "none") == (strategy == "flood")
            and (tables or reconcile not in ("notified", "informed", "path"))
            and (forwarding == "identity" or strategy in ("subscription", "hierarchical"))
            and (tables or recovery == "none")
            and not (forwarding == "covering" and recovery in ("subscriber_pull", "publisher_pull", "combined")))


def test_every_combination_is_judged_as_the_design_has_it():
    for names in product(*CHOICES.values()):
        chosen = dict(zip(CHOICES, names))
        assert (list(NodeConfig(**chosen).mismatches()) == []) == sound(**chosen), chosen


@pytest.mark.parametrize(("one", "other"), list(combinations(CHOICES, 2)))
def test_every_pair_is_judged_alike_by_both_files_and_the_node(one, other, tmp_path):
    for pair in product(CHOICES[one], CHOICES[other]):
        table = dict(zip((one, other), pair))
        problems, problem = verdicts(table, tmp_path)
        assert bool(problems) != sound(**config.defaults() | table), table
        assert problem == (problems[0] if problems else "")
        if problems:
            with pytest.raises(ValueError, match=re.escape(problems[0].removeprefix("node."))):
                Broker(1, 1, NodeConfig(**table), None)


def test_what_a_mismatch_names_would_do():
    """Each choice that a finding offers mends it."""
    offered = 0
    for names in product(*(CHOICES[key] for key in ("tree", "reconcile", "strategy", "forwarding", "recovery"))):
        chosen = config.defaults() | dict(zip(("tree", "reconcile", "strategy", "forwarding", "recovery"), names))
        for key, found, cure in config.mismatches(chosen):
            for other, words in re.findall(r'node\.(\w+) = ((?:"\w+"(?:, | or )?)+)', cure):
                for name in re.findall(r'"(\w+)"', words):
                    assert (key, found, cure) not in config.mismatches(chosen | {other: name}), (chosen, cure)
                    offered += 1
    assert offered > 1000


GOOD = {"supplies": {"links": {"has": "has links", "lacks": "has none"}},
        "pause": {"type": "float", "default": 1.0, "range": [0, 2], "doc": "a pause"},
        "tree": {"type": "choice", "default": "oak", "doc": "a tree", "choices": {"oak": {"doc": "an oak"}}}}


@pytest.mark.parametrize(("key", "change", "error"), [
    ("pause", {"colour": 1}, r"\[pause\] colour: no such key"), ("pause", {"doc": None}, r"\[pause\] doc: is missing"),
    ("pause", {"type": "real"}, r"\[pause\] type: 'real' is none of int, float"),
    ("pause", {"range": None}, r"\[pause\]: a number has a range"), ("tree", {"range": [0, 1]}, r"\[tree\]: a number has a range"),
    ("pause", {"default": 3.0}, r"\[pause\] default: 3.0 is not what the key takes"),
    ("pause", {"default": 1}, r"\[pause\] default: 1 is not what the key takes"),
    ("tree", {"default": "elm"}, r"\[tree\] default: 'elm' is not what the key takes"),
    ("pause", {"at_most": "rest"}, r"\[pause\] names the key rest, which is none"),
    ("tree", {"choices": {"oak": {"doc": "an oak", "keys": ["rest"]}}}, r"\[tree\] names the key rest"),
    ("tree", {"choices": {"oak": {"doc": "an oak", "needs": ["roots"]}}}, r"\[tree\] names roots, which is not in \[supplies\]"),
    ("tree", {"choices": {"oak": {}}}, r"\[tree.choices.oak\] doc: is missing"),
    ("tree", {"choices": {"oak": {"doc": "an oak", "leaf": 1}}}, r"\[tree.choices.oak\] leaf: no such key")])
def test_mistakes_in_the_table_are_named(key, change, error):
    assert list(config.keys_from(GOOD)) == ["pause", "tree"]
    tables = copy.deepcopy(GOOD)
    tables[key] = {name: value for name, value in (tables[key] | change).items() if value is not None}
    with pytest.raises(schema.SchemaError, match=error):
        config.keys_from(tables)


def test_both_tables_have_the_same_keys_in_the_same_order():
    assert list(Node.model_fields) == list(config.keys()) == list(NodeConfig.__dataclass_fields__)
