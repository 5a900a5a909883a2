"""`roamcast serve`: a folder of runs in the browser, for this machine alone, until Ctrl-C."""
from __future__ import annotations

import argparse
from pathlib import Path

from cli.arguments import whole
from cli.errors import UserError

HELP = "show a folder of runs in the browser of this machine"
PORT = 8470


class Arguments(argparse.Namespace):
    folder: Path
    port: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "exit codes: 0 ended by Ctrl-C; 2 no such folder, or the port is taken"
    parser.add_argument("folder", type=Path, nargs="?", default=Path("runs"), metavar="DIR", help="the folder that the runs lie in (default: runs)")
    parser.add_argument("--port", type=whole(0, 65535, "a port"), default=PORT, metavar="N",
                        help=f"port on 127.0.0.1; 0 for any that is free (default: {PORT})")


def run(args: Arguments) -> int:
    """0: ended by Ctrl-C or SIGTERM; 2: nothing to serve, or nowhere."""
    from analysis import AnalysisError
    from analysis.serve import HOST, listed, server

    try:
        serving = server(args.folder, args.port)
    except AnalysisError as error:
        raise UserError(str(error)) from None
    with serving:
        try:
            print(f"{len(listed(args.folder)[0])} runs in {args.folder}: http://{HOST}:{serving.port}/ (Ctrl-C ends)", flush=True)
            serving.serve_forever()
        except KeyboardInterrupt:
            pass
        except OSError as error:
            raise UserError(f"{args.folder}: cannot be read: {error.strerror}") from None
    return 0
