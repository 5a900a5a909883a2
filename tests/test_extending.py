"""The recipes of docs/extending.md hold: all of them, added to a copy of the checkout, pass the tests that they bring."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ADDED = ("tests/node/test_strategies.py", "tests/node/test_patient.py", "tests/node/test_brisk.py", "tests/mobility/test_places.py",
         "tests/analysis/test_latency_p90.py")


def test_the_recipes_hold(tmp_path):
    for room in ("node", "mobility", "topologies", "emulation", "analysis", "tests", "docs"):
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__", "traces", "figures", "bench"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    blocks = BLOCK.findall((ROOT / "docs" / "extending.md").read_text(encoding="utf-8"))
    assert set(ADDED) < {name for name, _ in blocks}
    for name, text in blocks:
        if name == "analysis/metrics.py":
            _among_metrics(tmp_path / name, text)
            continue
        with (tmp_path / name).open("a", encoding="utf-8") as file:
            file.write(f"\n\n{text}" if (tmp_path / name).stat().st_size else text)
    formats = tmp_path / "mobility" / "trace.py"
    source = formats.read_text(encoding="utf-8").replace("import bonnmotion,", "import places, bonnmotion,")
    assert '"ns2": ns2}' in source
    formats.write_text(source.replace('"ns2": ns2}', '"ns2": ns2, "places": places}'), encoding="utf-8")
    # the copy's rooms, also where the launcher or a Spark of another test has set these for the checkout's
    own = {**{key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}, "PYTHONPATH": str(tmp_path)}
    written = subprocess.run([sys.executable, "-m", "node.schema.typed"], cwd=tmp_path, env=own, capture_output=True, text=True)
    names = ["keys.py", "messages.pyi", "protocols.md", "scenario.md"]
    assert sorted(Path(name).name for name in written.stdout.split()) == names, written.stderr
    written = subprocess.run([sys.executable, "-m", "analysis.metrics"], cwd=tmp_path, env=own, capture_output=True, text=True)
    assert Path(written.stdout.strip()) == tmp_path / "docs" / "analysis.md", written.stderr
    done = subprocess.run([sys.executable, "-m", "pytest", "-n", "0", "-p", "no:randomly", "-rA",
                           "-k", "nearby or patient or new_one or places or tenth", *ADDED],
                          cwd=tmp_path, env=own, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("\nPASSED ") == 5, done.stdout + done.stderr


def _among_metrics(path: Path, row: str) -> None:
    """In the place that the recipe names: ahead of the next percentile."""
    source = path.read_text(encoding="utf-8")
    assert source.count('    Metric("latency_p95"') == 1
    path.write_text(source.replace('    Metric("latency_p95"', row + '    Metric("latency_p95"'), encoding="utf-8")
