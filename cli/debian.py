"""Debian packages, with or without root: what set-up downloads besides Python packages.

As root, packages are installed. As an ordinary user they are downloaded with apt's own settings
(its mirrors, keys and proxies), with lists of our own, and unpacked into a folder. Standard
library only: this runs before there is an environment.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path


class Unavailable(Exception):
    """What is unavailable and what to do about it, in one sentence."""


class NoSuchPackage(Unavailable):
    """This release of Debian has no package of that name."""


NO_NETWORK = ("Could not resolve", "Temporary failure", "Unable to connect", "Network is unreachable",
              "Connection timed out", "Could not connect", "Connection refused")
ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
PATIENCE = ["-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=30", "-o", "Acquire::https::Timeout=30"]


def present() -> bool:
    """Whether this machine has Debian's package tools."""
    return all(shutil.which(tool) for tool in ("apt-get", "dpkg-deb"))


def install(packages: list[str]) -> None:
    """Install packages on the machine; needs root. Raises Unavailable."""
    Path("/usr/share/man/man1").mkdir(parents=True, exist_ok=True)  # slim images lack it, and Java's set-up fails
    _apt(["update", "-o", "APT::Update::Error-Mode=any"], packages)
    _apt(["install", "-y", "--no-install-recommends", *packages], packages)
    _apt(["clean"], packages)


def fetch(packages: list[str], into: Path) -> None:
    """Download the packages (not what they depend on) and unpack them below `into`; needs no root.

    Absolute symbolic links are turned to their targets below `into`. Raises Unavailable.
    """
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="apt-", dir=into) as scratch:
        lists, cache = Path(scratch, "lists"), Path(scratch, "cache")
        (lists / "partial").mkdir(parents=True)
        (cache / "archives/partial").mkdir(parents=True)
        private = ["-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={cache}",
                   "-o", "Acquire::Languages=none"]
        if os.geteuid() == 0:  # root's apt would drop its rights, and with them its way into `into`
            private += ["-o", "APT::Sandbox::User=root"]
        _apt([*private, "update", "-o", "APT::Update::Error-Mode=any"], packages)
        _apt([*private, "download", *packages], packages, cwd=scratch)
        for archive in sorted(Path(scratch).glob("*.deb")):
            unpacked = subprocess.run(["dpkg-deb", "-x", archive, into], capture_output=True, text=True)
            if unpacked.returncode:
                raise Unavailable(f"cannot unpack {archive.name}: {_last_line(unpacked.stderr)}")
    _turn_links(into)


def _apt(arguments: list[str], packages: list[str], cwd: str | None = None) -> None:
    """One call of apt-get; Unavailable says what its failure means for `packages`."""
    try:
        done = subprocess.run(["apt-get", "-q", *PATIENCE, *arguments], cwd=cwd, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, **ENVIRONMENT})
    except OSError as error:
        raise Unavailable(f"cannot start apt-get: {error}") from None
    if done.returncode == 0:
        return
    names = " ".join(packages)
    if any(sign in done.stdout for sign in NO_NETWORK):
        raise Unavailable(f"cannot download Debian's {names}, because apt cannot reach its server; "
                          f"check the network (apt-get update shows the fault)")
    if "Unable to locate" in done.stdout or "no installation candidate" in done.stdout:
        raise NoSuchPackage(f"apt has no package {names}")
    if "No space left" in done.stdout or "enough free space" in done.stdout:
        raise Unavailable(f"cannot download Debian's {names}, because the disk is full; free some space")
    raise Unavailable(f"apt-get {' '.join(a for a in arguments if a[:1] != '-' and '::' not in a)} failed: "
                      f"{_last_line(done.stdout)}")


def _last_line(output: str) -> str:
    """The line of a program's output that most likely names the fault."""
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["no output"]
    return next((line for line in lines if line.startswith("E:")), lines[-1])


def _turn_links(root: Path) -> None:
    """Packages link to absolute paths (/etc/java-17-openjdk/...); below `root` these are elsewhere."""
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            link = Path(folder, name)
            if link.is_symlink() and (target := os.readlink(link)).startswith("/"):
                inside = root / target.lstrip("/")
                if os.path.lexists(inside):
                    link.unlink()
                    link.symlink_to(os.path.relpath(inside, folder))
