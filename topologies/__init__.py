"""The scenario: its schema, its checks, and the library of named scenarios (the .toml files here)."""

from topologies.notes import notes
from topologies.problems import ScenarioError
from topologies.scenario import Scenario, build, load

__all__ = ["Scenario", "ScenarioError", "build", "load", "notes"]
