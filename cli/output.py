"""What a command prints, whichever: where it cannot be written, that is a sentence and an exit code, and no traceback."""
from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TextIO


class OutputError(Exception):
    """The output takes no more; str() is a sentence."""


class _Checked:
    """A stream whose errors are told from those of other files. All that it does not change is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with _told():
            return self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        with _told():
            self._stream.writelines(lines)

    def flush(self) -> None:
        with _told():
            self._stream.flush()


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write the output: {error.strerror}; free some space, or send it elsewhere") from None
    except UnicodeEncodeError as error:
        raise OutputError(f"cannot write the output in {error.encoding}; set PYTHONUTF8=1") from None


@contextlib.contextmanager
def checked() -> Iterator[None]:
    """Within, sys.stdout raises OutputError, and BrokenPipeError when nobody reads any more; at the end all is written."""
    stream = sys.stdout
    sys.stdout = _Checked(stream)
    try:
        try:
            yield
        except SystemExit:  # of argparse, whose help may be what finds no room
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except (OutputError, BrokenPipeError):
        _give_up(stream)
        raise
    finally:
        sys.stdout = stream


def _give_up(stream: TextIO) -> None:
    """What is still buffered goes nowhere, or the interpreter would complain of it at its end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def complain(text: str) -> None:
    """A line on stderr; where that takes none either, the exit code must do."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)
