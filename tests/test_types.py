"""Types: mypy is strict with what [tool.mypy] in pyproject.toml names, and what is written from the contracts is current."""
from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from node.schema import typed

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]


def module(path: str) -> str:
    """The module in a file, as mypy's settings name it."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@pytest.fixture(scope="module")
def faults(tmp_path_factory) -> dict[str, list[str]]:
    """By module what mypy finds when it looks at those that are excused too."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    strict = tmp_path_factory.mktemp("mypy") / "mypy.ini"
    strict.write_text("[mypy]\n" + "".join(f"{key} = {value}\n" for key, value in SETTINGS.items()
                                           if key not in ("files", "overrides")))
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", strict, "--output", "json",
                           "--cache-dir", ROOT / ".mypy_cache" / "all", *SETTINGS["files"]],
                          cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, list[str]] = {}
    for fault in map(json.loads, done.stdout.splitlines()):
        if fault["severity"] == "error":
            found.setdefault(module(fault["file"]), []).append("{file}:{line}: {message}".format(**fault))
    return found


def excused() -> set[str]:
    return {name for override in SETTINGS["overrides"] for name in override["module"]}


def test_types_are_strict(faults):
    assert not [line for name, lines in faults.items() if name not in excused() for line in lines]


def test_who_has_become_clean_is_excused_no_longer(faults):
    done = sorted(excused() - set(faults))
    assert not done, f"take these out of [[tool.mypy.overrides]] in pyproject.toml: {', '.join(done)}"


def test_what_is_written_from_the_contracts_is_current():
    old = [path.relative_to(ROOT) for path, text in typed.files().items() if path.read_text(encoding="utf-8") != text]
    assert not old, f"run `python -m node.schema.typed` for {', '.join(map(str, old))}"
