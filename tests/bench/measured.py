"""Where a measured number comes from: the line that stands above it in a page, and how it gets into the page.

A page has its measured parts between `<!-- measured: COMMAND -->` and `<!-- end -->`. The command named there
writes the part again; its first line says when, at which commit and on which machine that was.
"""
from __future__ import annotations

import os
import platform
import subprocess
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
END = "<!-- end -->\n"


def stamp(load: bool = True) -> str:
    """One line: date, commit, Python and machine; with `load` also how busy the machine is now."""
    busy = f", load {os.getloadavg()[0]:.1f} when it began" if load else ""
    return (f"Measured {date.today().isoformat()} at commit {_commit()}: Python {platform.python_version()}, "
            f"{platform.machine()}, {_processor()}, {os.cpu_count()} cores{busy}.\n")


def begin(command: str) -> str:
    return f"<!-- measured: {command} -->\n"


def write(page: Path, command: str, text: str) -> None:
    """Put `text` where the page has what `command` measured. ValueError where it has no such part, or two."""
    old = page.read_text(encoding="utf-8")
    if old.count(begin(command)) != 1:
        raise ValueError(f"{page.name} has not one part that begins with {begin(command).strip()}")
    before, _, rest = old.partition(begin(command))
    page.write_text(before + begin(command) + text + END + rest.partition(END)[2], encoding="utf-8")


def _commit() -> str:
    """The checkout's commit; it says so where the code is not what was committed, which no page may have."""
    commit = _git("rev-parse", "--short", "HEAD") or "unknown"
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs", ":!*.md")
    return f"{commit} and changes" if changed else commit


def _git(*arguments: str) -> str:
    return subprocess.run(["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), *arguments],
                          capture_output=True, text=True).stdout.strip()


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown processor"
