"""Java for Spark: found on the machine or downloaded; `.venv/java` is its home.

Spark 4.3 needs Java 17 or later with the module `jdk.incubator.vector`, which Debian's runtimes
have. Only analyses need it, so its absence is reported but is not a failure. Standard library only:
this runs before there is an environment.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from cli import debian

OLDEST = 17
PACKAGES = ["openjdk-17-jre-headless", "openjdk-21-jre-headless"]  # Debian 12 has the first, 13 the second
JVMS = Path("/usr/lib/jvm")
CLASSES = "java.jsa"  # in the environment; analysis/session.py hands it to Java
PATIENCE = 600.0  # s


def ensure(link: Path, say: Callable[[str], None] = lambda text: None) -> None:
    """Make `link` the home of a suitable Java, from this machine or from Debian; `say` announces what takes long.
    Raises Unavailable."""
    if fits(link):
        return
    home = find()
    if home is None and debian.present() and os.geteuid() == 0:
        say("installing Java from Debian.")
        _of_this_release(debian.install)
        home = find()
        if home is None:
            raise debian.Unavailable(f"the Java that apt installed does not start; {advice()}")
    if home is not None:
        link.unlink(missing_ok=True)
        link.symlink_to(home)
        return
    if not debian.present():
        raise debian.Unavailable(f"found no Java {OLDEST} or later; {advice()}")
    say("downloading Java from Debian.")
    _unpack(link)


def keep_classes(venv: Path, root: Path) -> None:
    """Let Java save Spark's classes, which halves its start time. Analyses work without them, so this never fails.
    `root`: the checkout."""
    kept, growing = venv / CLASSES, venv / f"{CLASSES}.part"
    environment = {**os.environ, "PYTHONPATH": str(root), "JAVA_HOME": str(venv / "java")}
    kept.unlink(missing_ok=True)  # of another Java, which this one would not read
    try:
        subprocess.run([venv / "bin/python", "-P", "-m", "analysis.classes", growing], env=environment, cwd=root,
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=True)
        growing.replace(kept)
    except (OSError, subprocess.SubprocessError):
        growing.unlink(missing_ok=True)


def advice() -> str:
    """How to install a Java, for an error."""
    if debian.present():
        return f"as root: apt-get install {PACKAGES[0]}"
    return f"install a Java {OLDEST} runtime and set JAVA_HOME to its folder"


def find() -> Path | None:
    """The home of a suitable Java on this machine: from JAVA_HOME, the PATH or /usr/lib/jvm, in this order."""
    homes = []
    if os.environ.get("JAVA_HOME"):
        homes.append(Path(os.environ["JAVA_HOME"]))
    if program := shutil.which("java"):
        homes.append(Path(program).resolve().parent.parent)
    if JVMS.is_dir():
        homes += sorted(path for path in JVMS.iterdir() if not path.is_symlink())
    return next((home for home in homes if fits(home)), None)


def fits(home: Path) -> bool:
    """Whether the Java at `home` starts as Spark starts it, with the right version and module."""
    program = home / "bin/java"
    if not os.access(program, os.X_OK):
        return False
    try:
        shown = subprocess.run([program, "--add-modules=jdk.incubator.vector", "-version"], text=True,
                               capture_output=True, timeout=60, errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        return False
    version = re.search(r'version "(\d+)', shown.stderr)
    return shown.returncode == 0 and version is not None and int(version.group(1)) >= OLDEST


def _of_this_release(get: Callable[[list[str]], None]) -> None:
    """Get the first of PACKAGES that this release of Debian has. Raises Unavailable."""
    try:
        try:
            get(PACKAGES[:1])
        except debian.NoSuchPackage:
            get(PACKAGES[1:])
    except debian.Unavailable as error:
        raise debian.Unavailable(f"{error}; then start again, or {advice()}") from None


def _unpack(link: Path) -> None:
    """A private Java at `link`, from Debian's package but without root's rights; whole or not at all."""
    with tempfile.TemporaryDirectory(prefix="java-", dir=link.parent) as scratch:
        root = Path(scratch, "root")
        _of_this_release(lambda packages: debian.fetch(packages, root))
        home = next((path for path in (root / JVMS.relative_to("/")).glob("*") if fits(path)), None)
        if home is None:
            raise debian.Unavailable(f"Debian's Java does not start unpacked; {advice()}")
        folder = link.with_name("java-private")
        shutil.rmtree(folder, ignore_errors=True)
        root.rename(folder)
        link.unlink(missing_ok=True)
        link.symlink_to(Path(folder.name, home.relative_to(root)))
