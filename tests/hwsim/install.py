"""The guest, made once, and jobs in it that have Roamcast installed from a wheelhouse.

    python tests/hwsim/install.py SCENARIO OUT [OPTIONS OF roamcast run]

runs a scenario in the world hwsim in the guest; its run directory is copied to OUT.
"""
from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.hwsim import guest  # noqa: E402

ROOMS = ("node", "mobility", "topologies", "emulation", "analysis", "cli")
PYTHON = "/opt/roamcast/bin/python"
ROAMCAST = f"{PYTHON} -P -m cli"
HEAD = """#!/bin/sh
set -e
cp -a /host/site /tmp/site
export PYTHONPATH=/tmp/site
cd /tmp
"""


def made() -> Path:
    """The folder of the guest, which is made when there is none of this script and these libraries."""
    key = hashlib.sha256(Path(guest.__file__).read_bytes() + guest.LOCK.read_bytes()).hexdigest()[:12]
    folder = guest.ROOT / ".guest" / key
    if not (folder / "system").exists():
        print("making the guest (Debian's packages, a minute or two) ...", file=sys.stderr, flush=True)
        shutil.rmtree(folder.parent, ignore_errors=True)  # one of an older script
        guest.build(folder)
    return folder


def roamcast(share: Path) -> None:
    """Roamcast's wheel of this checkout as it is, and what pip makes of it for the guest, whose own pip would take minutes."""
    house = share / "wheels"
    with tempfile.TemporaryDirectory() as scratch:
        for room in ROOMS:
            shutil.copytree(guest.ROOT / room, Path(scratch, room), ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md"):
            if (guest.ROOT / name).exists():
                shutil.copy(guest.ROOT / name, scratch)
        house.mkdir(exist_ok=True)
        done = subprocess.run([*guest.pip(), "wheel", "-q", "--no-deps", "-w",
                               str(house), scratch], capture_output=True, text=True)
        if done.returncode:
            raise guest.NoGuest(f"Roamcast's wheel cannot be made: {done.stderr[-1000:]}")
    done = subprocess.run([*guest.pip(), "install", "-q", "--no-index", "--no-deps", "--target", str(share / "site"), "--find-links",
                           str(house), "roamcast"], capture_output=True, text=True)
    if done.returncode:
        raise guest.NoGuest(f"Roamcast cannot be installed for the guest: {done.stderr[-1000:]}")


def do(share: Path, commands: str, seconds: float) -> tuple[int, str]:
    """Shell commands in the guest, in /tmp, after Roamcast was installed there; exit code and output. Raises NoGuest."""
    share.mkdir(exist_ok=True)
    roamcast(share)
    job = share / "job"
    job.write_text(HEAD + commands)
    job.chmod(0o755)
    return guest.run(made(), share, seconds)


def run(scenario: Path, share: Path, seconds: float, options: str = "") -> tuple[Path, str]:
    """`roamcast run SCENARIO --world hwsim` in the guest; the run directory, copied out of it, and what was said.

    Raises NoGuest.
    """
    share.mkdir(exist_ok=True)
    shutil.copytree(guest.ROOT / "topologies", share / "topologies", dirs_exist_ok=True)
    shutil.copy(scenario, share / "topologies" / scenario.name)
    code, said = do(share, f"""
code=0
{ROAMCAST} run /host/topologies/{scenario.name} --world hwsim --no-analysis --out run {options} || code=$?
cp -r run /host/run || true
exit $code
""", seconds)
    if not (share / "run" / "manifest.json").exists():
        raise guest.NoGuest(f"roamcast run ended with {code}: {said}")
    return share / "run", said


def main(scenario: str, out: str, *options: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        found, said = run(Path(scenario), Path(scratch, "share"), 3600.0, " ".join(options))
        print(said)
        shutil.copytree(found, out)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) > 2 else __doc__)
