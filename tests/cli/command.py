"""The command as a person starts it, in a process of its own; and the same in this process, where nothing needs another."""
from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def start(*arguments: object, cwd: Path, **options) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-m", "cli", *map(str, arguments)], cwd=cwd, env=ENVIRONMENT, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def roamcast(*arguments: object, cwd: Path, **options) -> subprocess.CompletedProcess:
    process = start(*arguments, cwd=cwd, **options)
    out, err = process.communicate(timeout=600)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def here(*arguments: object, cwd: Path) -> subprocess.CompletedProcess:
    """As `roamcast`, but in this process: it need not start Python again, nor Spark where one runs."""
    from cli.main import main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    words = [str(argument) for argument in arguments]
    with open(os.devnull) as nothing, contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
            patch.object(sys, "stdin", nothing):
        try:
            code = main(words)
        except SystemExit as exit:  # as argparse ends after --help
            code = exit.code
    return subprocess.CompletedProcess(words, code, *(stream.buffer.getvalue().decode() for stream in (out, err)))
