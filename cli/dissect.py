"""`roamcast dissect`: a capture on the screen, a line a frame, or the dissector that Wireshark and tshark load."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "print a capture, or write the dissector for Wireshark"


class Arguments(argparse.Namespace):
    capture: Path | None
    out: Path | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("capture", type=Path, nargs="?", help="capture to print, such as captures/N.pcap of a run")
    what.add_argument("--out", type=Path, metavar="FILE",
                      help="write the dissector (Lua) to FILE, for example in Wireshark's plug-in folder")


def run(args: Arguments) -> int:
    from cli.errors import UserError
    from cli.hosts import whose
    from emulation import dissect
    from mobility.wholefile import write_whole

    try:
        if args.out is not None:
            write_whole(args.out, dissect.wireshark_lua())
            print(f"{args.out}: written; for example: tshark -X lua_script:{args.out} -r captures/0.pcap")
        elif args.capture is not None:  # one of the two is required
            if told := whose(args.capture):
                print(f"roamcast: {told}", file=sys.stderr)
            for line in dissect.lines(args.capture):
                print(line)
    except BrokenPipeError:
        raise
    except OSError as error:
        cure = "choose another with --out" if args.out is not None else "give captures/N.pcap of a run, or another capture"
        raise UserError(f"{error.filename}: {error.strerror}; {cure}") from None
    except ValueError as error:
        raise UserError(str(error)) from None
    return 0
