"""`roamcast collect`: from the records of field nodes to a run directory that `roamcast analyse` reads."""
from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emulation.collect import Collected

HELP = "merge the records of field nodes into a run directory"


class Arguments(argparse.Namespace):
    source: list[Path]
    out: Path
    config: Path | None
    walk: int | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=Path, nargs="+",
                        help="record files of nodes, their older pieces NAME.1, ... next to them, or folders "
                             "that hold such files")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="run directory to create")
    parser.add_argument("--config", type=Path, metavar="FILE",
                        help="node.toml of one of the nodes; its [node] goes into the report (default: a node's defaults)")
    parser.add_argument("--walk", type=int, metavar="NUMBER",
                        help="take this walk if the records hold several; they are numbered in the order in which they began, and "
                             "listed at the end (default: the walk with the most nodes; of several such, the longest)")


def run(args: Arguments) -> int:
    from cli.errors import UserError
    from emulation.collect import CollectError, collect
    from emulation.records import DiskFull
    from emulation.rundir import RunDirError
    from node.settings import SettingsError, read

    try:
        config = None if args.config is None else read(args.config).config
        found = collect(args.source, args.out, config, args.walk)
    except (CollectError, RunDirError, SettingsError) as error:
        raise UserError(str(error)) from None
    except DiskFull as error:
        raise UserError(f"{args.out}: the disk is full ({error}); free some space and start again") from None
    except OSError as error:  # a card that can be read in part, say
        raise UserError(f"{error.filename or args.out}: {error.strerror}; copy the records again, and retry with another "
                        "--out") from None
    _tell(found)
    return 0


def _tell(found: Collected) -> None:
    print(f"{found.path}: {len(found.nodes)} node{'' if len(found.nodes) == 1 else 's'} ({', '.join(map(str, found.nodes))}), "
          f"{found.duration:.1f} s; {found.when}")
    for (node, epoch), clock in sorted(found.clocks.items()):
        print(f"  node {node}, life {epoch}: its clock {_HOW[clock.by].format(wrong=1000 * clock.wrong)}")
    for note in [*found.early, *found.notes]:
        print(f"  {note}")
    print(f"roamcast analyse {found.path}")


_HOW = {"reference": "is the reference", "datagrams": "is aligned by datagrams, {wrong:.1f} ms off at most",
        "one way": "is aligned by datagrams that came one way only: late by the fastest of them, some "
                   "milliseconds",
        "wall clock": "is aligned by its wall clock, as good as that was set: it exchanged no datagram with "
                      "the others"}
