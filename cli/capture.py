"""`roamcast capture`: what an interface sees, into a pcap file, until Ctrl-C; with --monitor all that its radio hears."""
from __future__ import annotations

import argparse
from pathlib import Path

from cli.arguments import number

HELP = "write the frames that an interface sees to a pcap file"


class Arguments(argparse.Namespace):
    interface: str
    out: Path
    monitor: bool
    seconds: float | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("interface", help="interface to listen on, such as wlan0")
    parser.add_argument("--out", type=Path, metavar="FILE", required=True, help="pcap file to create")
    parser.add_argument("--monitor", action="store_true",
                        help="capture every frame on the channel, with rates and signals; the radio needs monitor mode")
    parser.add_argument("--seconds", type=number(0.01, 1e7, "seconds"), metavar="S", help="stop after S seconds (default: stop at Ctrl-C)")


def run(args: Arguments) -> int:
    import signal
    from contextlib import nullcontext

    from cli.errors import FAILED, UserError
    from emulation.linux.sniffer import Monitor, Sniffer, SnifferError, going_until
    from emulation.records import DiskFull

    stop: list[object] = []
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, lambda number, _: stop.append(number))
    try:
        with Monitor(args.interface) if args.monitor else nullcontext(args.interface) as name:
            sniffer = Sniffer(name, args.out)
            sniffer.run(going_until(stop, args.seconds))
    except SnifferError as error:
        raise UserError(str(error)) from None
    except FileExistsError:
        raise UserError(f"{args.out}: exists already; choose another with --out, or remove it") from None
    except DiskFull as error:
        print(f"The disk is full ({error}): the capture ends here")
        return FAILED
    except OSError as error:
        raise UserError(f"{args.out}: {error.strerror}; choose another with --out") from None
    times = "once" if sniffer.interruptions == 1 else f"{sniffer.interruptions:,} times"
    away = f"; {name} was down or away {times}, and the capture lacks what passed meanwhile" if sniffer.interruptions else ""
    print(f"{args.out}: {sniffer.frames:,} frames of {name}; {sniffer.dropped:,} dropped by the kernel{away}")
    return 0
