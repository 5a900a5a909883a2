"""`python -m cli`: the command `roamcast`, as the launcher starts it and as it is installed.

SIGTERM ends a command as Ctrl-C does, so that what it has started ends with it. A Ctrl-C while libraries are being
loaded comes out of them as whatever they make of it, a failed import or worse. It is told as what it was.
"""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_interrupted = False


def main() -> int:
    try:
        _heed_interrupts()
        from cli import main as command

        return command.main()
    except SystemExit:
        raise
    except BaseException as error:
        if not _interrupted and not isinstance(error, KeyboardInterrupt):
            raise
        sys.stderr.write("roamcast: interrupted\n")
        return 130


def _heed_interrupts() -> None:
    import signal

    def interrupt(number: int, frame: FrameType | None) -> None:
        global _interrupted
        _interrupted = True
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # whoever started us may have it ignored
        signal.signal(signal.SIGINT, interrupt)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, interrupt)


if __name__ == "__main__":
    sys.exit(main())
