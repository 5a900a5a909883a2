"""The completion script: what bash offers at each place, for every command."""
from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import shutil
import subprocess

import pytest

from cli.main import commands, main

# Asks the script for the last of the words given, as bash does at a press of Tab.
ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()
_shtab_roamcast
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def offered(tmp_path_factory):
    """A function from words, the last of which is unfinished, to what bash offers for it in a small folder."""
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    folder = tmp_path_factory.mktemp("completion")
    (folder / "runs").mkdir()
    (folder / "park.toml").touch()
    script = folder / "completion.bash"
    script.write_text(printed("bash"))

    def ask(*words: str) -> set[str]:
        done = subprocess.run(["bash", "--norc", "-c", ASK, "bash", script, "roamcast", *words], cwd=folder,
                              capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return set(done.stdout.split())

    return ask


def printed(shell: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(["completion", shell]) == 0
    return out.getvalue()


def test_every_command_is_offered(offered):
    assert set(commands()) <= offered("")
    assert offered("repr") == {"reproduce"}


@pytest.mark.parametrize("name", commands())
def test_every_flag_of_a_command_is_offered(offered, name):
    module, parser = importlib.import_module(f"cli.{name}"), argparse.ArgumentParser()
    module.add_arguments(parser)
    flags = {flag for action in parser._actions for flag in action.option_strings}
    assert flags <= offered(name, "-")


def test_choices_files_and_folders_are_offered(offered):
    assert offered("reproduce", "") == {"dynamic-topology", "epidemic", "mobile", "overlay"}
    assert "--json" in offered("reproduce", "overlay", "-") and "--figure" in offered("reproduce", "mobile", "-")
    assert offered("run", "p") == {"park.toml"} and offered("analyse", "") == {"runs"}
    assert offered("analyse", "--out", "p") == {"park.toml"}


def test_other_shells_get_theirs():
    assert printed("zsh").startswith("#compdef roamcast\n") and "complete roamcast" in printed("tcsh")
