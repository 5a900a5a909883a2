"""Output files that are complete or absent, and never overwrite somebody else's: all rooms write files for people here.

A file is written under another name in the target folder, synced to disk, and then renamed. Until then the previous
file stays. If the name is a link, or anything but a file, nothing is written: the link may lead to a file of whoever
started the program.
"""
from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path

SCRATCH = ".part"  # how the names of files end that are not whole yet
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def check_place(path: Path) -> None:
    """Raise OSError unless a file may be written here; its strerror says what is in the way and what to do."""
    try:
        there = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(there):
        raise OSError(errno.ELOOP, "it is a symbolic link, and files are not written through links; remove it", str(path))
    if not stat.S_ISREG(there):
        what = "a folder" if stat.S_ISDIR(there) else "not an ordinary file"
        raise OSError(errno.EEXIST, f"it is {what}; remove it, or choose another name", str(path))


def write_whole(path: Path, content: bytes | str) -> None:
    """Write all of `content` or nothing. Text is encoded as UTF-8; half of a surrogate pair, which UTF-8 cannot
    encode, becomes a question mark. Raises OSError."""
    data = content.encode(errors="replace") if isinstance(content, str) else content
    check_place(path)
    scratch = path.parent / f".{secrets.token_hex(8)}{SCRATCH}"
    try:
        descriptor = os.open(scratch, _NEW, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(scratch, path)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
    except OSError as error:  # about the file that was asked for
        raise OSError(error.errno, error.strerror, str(path)) from None
