"""Types: mypy is strict over every room, and what is written from the contracts is current."""
from __future__ import annotations

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


def test_nothing_is_excused_from_types():
    assert SETTINGS["strict"] and set(SETTINGS["files"]) == {"roamcast.py", "node", "mobility", "topologies", "emulation", "analysis", "cli"}
    excused = [override for override in SETTINGS["overrides"] if set(override) - {"module", "ignore_missing_imports"}]
    assert not excused and not {key for key in SETTINGS if key.startswith(("ignore", "allow", "disable", "exclude"))}


def test_what_is_written_from_the_contracts_is_current():
    old = [path.relative_to(ROOT) for path, text in typed.files().items() if path.read_text(encoding="utf-8") != text]
    assert not old, f"run `python -m node.schema.typed` for {', '.join(map(str, old))}"
