"""Runs a program with mounts of its own: python -m tests.own_mounts PROGRAM ...

What it mounts is gone with it and seen by nobody else. Root can do it in a chroot, too, whose root is no mount point; an
ordinary user needs user namespaces, and is root among the mounts.
"""
from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from emulation.linux import kernel

ROOT = Path(__file__).resolve().parents[1]


def own_mounts(script: str, *arguments: object) -> list[str]:
    """The command that runs a shell script, with these arguments, where it may mount; skips the test where none may.

    It needs ROOT on its PYTHONPATH.
    """
    if (pid := os.fork()) == 0:
        failed = 0
        try:
            _enter()
        except OSError as error:
            failed = error.errno or 1
        os._exit(failed)
    if failed := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        pytest.skip(f"needs mounts of its own, which this system does not give ({os.strerror(failed)})")
    return [sys.executable, "-P", "-m", "tests.own_mounts", "sh", "-c", script, "sh", *map(str, arguments)]


def _enter() -> None:
    user, group = os.geteuid(), os.getegid()
    if user != 0:
        kernel.unshare(kernel.CLONE_NEWUSER)
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            Path("/proc/self", name).write_text(text)
    kernel.make_mounts()


if __name__ == "__main__":
    _enter()
    os.execvp(sys.argv[1], sys.argv[1:])
