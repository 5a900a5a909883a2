"""Programs that a scenario names run with the rights of whoever starts it: they are shown, and start only if that is said."""
from __future__ import annotations

import getpass
import os

import pytest

from tests.cli.command import roamcast

SCENARIO = """
[run]
duration = 2
deadline = 1
grace = 0
world = "netns"
[run.fidelity]
medium = 60
nodes = 60
positions = 60
dropped = 1
[hosts]
names = ["ann", "ben", "cho"]
command = ["sh", "-c", "touch '{folder}/touched'; exit 0"]
[hosts.cho]
command = ["ls", "a b"]
[mobility]
positions = [[0, 0], [50, 0], [100, 0]]
"""
WHO = "root" if os.geteuid() == 0 else getpass.getuser()


@pytest.fixture
def scenario(tmp_path):
    (tmp_path / "programs.toml").write_text(SCENARIO.replace("{folder}", str(tmp_path)))
    return tmp_path


def test_check_says_which_commands_a_run_would_start_and_as_whom(scenario):
    told = roamcast("check", "programs.toml", cwd=scenario)
    first, second = [line for line in told.stdout.splitlines() if "hosts.command" in line]
    assert told.returncode == 0
    assert first.startswith(f'programs.toml: hosts.command: hosts 0 ("ann"), 1 ("ben") would run, as {WHO} on this machine: sh -c ')
    assert f"{scenario}/touched" in first and first.endswith("; `roamcast run` starts it only with --allow-commands")
    assert f"host 2 (\"cho\") would run, as {WHO} on this machine: ls 'a b'; " in second
    assert not (scenario / "touched").exists()


def test_run_refuses_them_without_the_word(scenario):
    told = roamcast("run", "programs.toml", cwd=scenario)
    assert told.returncode == 2 and told.stdout == ""
    assert told.stderr.splitlines()[-1] == ("roamcast: programs.toml: hosts.command: read them, and add --allow-commands if you trust "
                                            "them; nothing was started")
    assert sorted(file.name for file in scenario.iterdir()) == ["programs.toml"]


def test_run_refuses_those_of_single_hosts_too(scenario):
    text = (scenario / "programs.toml").read_text()
    (scenario / "programs.toml").write_text(text.replace("\ncommand = [\"sh\"", "\n#", 1))
    told = roamcast("run", "programs.toml", cwd=scenario)
    assert told.returncode == 2 and "host 2" in told.stderr and "hosts 0" not in told.stderr


def test_run_starts_them_with_it(scenario):
    from emulation.linux import kernel
    from emulation.worlds.netns.world import FABRIC

    try:
        FABRIC.check()
    except kernel.Unsupported as error:
        pytest.skip(str(error))
    roamcast("run", "programs.toml", "--allow-commands", "--no-analysis", cwd=scenario)
    assert (scenario / "touched").exists()
