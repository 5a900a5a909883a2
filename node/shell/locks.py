"""Files that belong to one process while it runs: a lock file next to each.

Two nodes that write the same records, or use the same boot epoch, ruin both lives. The lock (flock) ends with its
process, however that ends. A lock file that was left behind blocks nobody.
"""
from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

LOCK = ".lock"  # behind the name of what is locked


class Held(Exception):
    """Another process has the lock."""


class Lock:
    """Locks `path` for this process until `release`. Raises Held, and OSError if the lock file cannot be created."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + LOCK)
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._file)
                raise Held from None
            except BaseException:
                os.close(self._file)
                raise
            if self._is_there():
                return
            os.close(self._file)  # its former holder took it away meanwhile

    def release(self) -> None:
        if self._file >= 0:
            with contextlib.suppress(OSError):
                if self._is_there():
                    self._path.unlink()
            os.close(self._file)
            self._file = -1

    def _is_there(self) -> bool:
        try:
            there = self._path.lstat()
        except OSError:
            return False
        return (there.st_dev, there.st_ino) == ((own := os.fstat(self._file)).st_dev, own.st_ino)
