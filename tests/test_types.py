"""Types: mypy is strict over the node, movement, scenarios and analysis, and what is written from the contracts is current."""
from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from node.schema import typed

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]


def test_types_are_strict():
    """mypy keeps what it knows of each file in .mypy_cache: it takes seconds once, and then next to nothing."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_is_typed_as_strictly():
    """Its own files alone: what it calls in the analysis is not typed throughout."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    done = subprocess.run([sys.executable, "-m", "mypy", "cli"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1) and [line for line in done.stdout.splitlines() if line.startswith("cli")] == [], done.stdout


def test_nothing_is_excused_from_types():
    assert SETTINGS["strict"] and set(SETTINGS["files"]) >= {"node", "mobility", "topologies", "analysis"}
    excused = [override for override in SETTINGS["overrides"] if set(override) - {"module", "ignore_missing_imports"}]
    assert not excused and not {key for key in SETTINGS if key.startswith(("ignore", "allow", "disable", "exclude"))}


def untyped(body: list[ast.stmt], inside: str = "") -> list[str]:
    """Public functions and methods, constructors too, with a parameter or a result that has no type."""
    found = []
    for item in body:
        if isinstance(item, ast.ClassDef) and not item.name.startswith("_"):
            found += untyped(item.body, f"{item.name}.")
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and (item.name == "__init__" or not item.name.startswith("_")):
            args = item.args
            given = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
            if inside and not any(ast.unparse(one) == "staticmethod" for one in item.decorator_list):
                given = given[1:]  # self or cls
            if item.returns is None or any(one.annotation is None for one in given):
                found.append(inside + item.name)
    return found


@pytest.mark.parametrize("room", ["emulation", "cli"])
def test_public_seams_are_typed(room):
    """Of the rooms that mypy does not, or not wholly, look into."""
    wrong = [f"{path.relative_to(ROOT)}: {name}" for path in sorted((ROOT / room).rglob("*.py"))
             for name in untyped(ast.parse(path.read_text(encoding="utf-8")).body)]
    assert not wrong


def test_what_is_written_from_the_contracts_is_current():
    old = [path.relative_to(ROOT) for path, text in typed.files().items() if path.read_text(encoding="utf-8") != text]
    assert not old, f"run `python -m node.schema.typed` for {', '.join(map(str, old))}"
