"""The table of worlds: every name that a scenario may give, each loaded only when it is asked for."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from emulation import worlds
from topologies.run import Run

ROOT = Path(__file__).resolve().parents[2]


def test_every_world_that_a_scenario_may_name_is_in_the_table():
    assert set(worlds.WORLDS) == set(get_args(Run.model_fields["world"].annotation))


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_a_world_brings_no_other(name):
    """Nor, in `sim`, what is needed of Linux alone."""
    code = ("import sys; from emulation import worlds; worlds.named(sys.argv[1])\n"
            "print(*{'.'.join(name.split('.')[1:3]) for name in sys.modules if name.startswith('emulation.worlds.')},"
            "*{name.split('.')[1] for name in sys.modules if name.startswith(('emulation.linux', 'emulation.realtime'))})")
    done = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT)})
    loaded = set(done.stdout.split())
    assert f"worlds.{name}" in loaded
    if name == "sim":
        assert loaded == {"worlds.sim"}
    else:
        assert "worlds.netns" not in loaded - {f"worlds.{name}"} and {"linux", "realtime"} <= loaded
