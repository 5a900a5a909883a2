"""A folder of runs in the browser: the list of them, and the report of each. For this machine alone.

It listens on loopback, answers GET and HEAD, and gives out two things: the list, and the file report.html of a run directory
that lies in the folder. It follows no link, neither a run's folder nor its report. A page of somebody else's that made its own
name lead to this machine (DNS rebinding) sends that name as Host, and gets nothing.
"""
from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import sys
import tomllib
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from analysis import RULES, page
from analysis.errors import AnalysisError

HOST = "127.0.0.1"
PATIENCE = 10.0  # s that a browser may take to ask
LARGEST = 32 << 20  # bytes of a file that the list is made of
_REPORT = "report.html"
_HEADERS = {  # a report is one file; whatever its records say, it loads nothing and sends nothing
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
                               "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store"}


class Listed(NamedTuple):
    """A run as the list shows it."""

    name: str  # of its folder
    link: str  # "" where there is no report
    scenario: str
    world: str
    seed: str
    started: str
    ratio: str  # delivered in time, of the expected pairs
    good: bool
    state: str  # valid, or what is in the way
    command: str  # what makes the report, "" where it is there


def server(folder: Path, port: int) -> Server:
    """A server that listens; `serve_forever()` answers. Port 0 means any that is free. Raises AnalysisError."""
    if not folder.is_dir():
        raise AnalysisError(f"{folder}: no such folder; give the one that your runs lie in")
    if (folder / "scenario.toml").is_file():
        raise AnalysisError(f"{folder}: is one run; give the folder that it lies in, {folder.absolute().parent}")
    try:
        return Server(folder, port)
    except OSError as error:
        raise AnalysisError(f"{HOST}:{port}: cannot be listened on ({error.strerror}); give another with --port, or 0 for any "
                            "that is free") from None


def listed(folder: Path) -> tuple[list[Listed], int]:
    """The runs that lie in a folder, newest first, and how many links in it were not followed."""
    with os.scandir(folder) as entries:
        found = list(entries)
    runs = [_listed(folder, entry.name) for entry in found
            if entry.is_dir(follow_symlinks=False) and os.path.isfile(os.path.join(entry.path, "scenario.toml"))]
    return sorted(runs, key=lambda run: (run.started, run.name), reverse=True), sum(entry.is_symlink() for entry in found)


class Server(ThreadingMixIn, TCPServer):
    """HTTPServer would ask the network for the name of 127.0.0.1."""

    allow_reuse_address = True
    daemon_threads = True  # what a browser still reads does not keep the command from its end

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        super().__init__((HOST, port), _Handler)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a browser that left
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = PATIENCE
    server_version, sys_version = "roamcast", ""

    def do_GET(self) -> None:
        if not self._for_us():
            return
        path = self.path.partition("?")[0]
        if path == "/":
            self._send(_page(self.server.folder).encode(errors="replace"))
            return
        name, _, rest = path.removeprefix("/").partition("/")
        try:
            if not path.startswith("/") or rest != _REPORT:
                raise FileNotFoundError
            file = _report(self.server.folder, os.fsdecode(unquote_to_bytes(name)))
        except (OSError, ValueError):
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such report; the list of runs is at /")
            return
        with file:
            self._send(file, os.fstat(file.fileno()).st_size)

    do_HEAD = do_GET

    def _for_us(self) -> bool:
        """Whether it was this machine's own name that the browser asked for."""
        names = [f"{name}:{self.server.port}" for name in (HOST, "localhost")]
        if self.server.port == 80:
            names += [HOST, "localhost"]
        if self.headers.get_all("Host", []) not in [[name] for name in names]:
            self._refuse(HTTPStatus.FORBIDDEN, f"this is only for http://{names[0]}/")
            return False
        return True

    def _send(self, content: bytes | BinaryIO, size: int | None = None) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content) if isinstance(content, bytes) else size))
        self.end_headers()
        if self.command == "HEAD":
            return
        if isinstance(content, bytes):
            self.wfile.write(content)
        else:
            shutil.copyfileobj(content, self.wfile)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        body = f"{status.value} {status.phrase}: {why}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Of a method that there is no do_... for, or a request that is none."""
        self._refuse(HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code),
                     "only GET and HEAD are answered" if code == HTTPStatus.NOT_IMPLEMENTED else "not a request that is understood")

    def end_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """The terminal is for what the person must know."""


def _report(folder: Path, name: str) -> BinaryIO:
    """The report of a run that lies in the folder, opened step by step, through no link. Raises OSError, ValueError."""
    if name in ("", ".", "..") or "/" in name:
        raise FileNotFoundError
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        run = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
    finally:
        os.close(root)
    try:
        file = os.open(_REPORT, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=run)
    finally:
        os.close(run)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return os.fdopen(file, "rb")
    os.close(file)
    raise FileNotFoundError


def _listed(folder: Path, name: str) -> Listed:
    path = folder / name
    scenario, manifest, summary = _read(path / "scenario.toml"), _read(path / "manifest.json"), _read(path / "summary.json")
    table = _table(scenario, "run")
    there = stat.S_ISREG(mode) if (mode := _mode(path / _REPORT)) else False
    ratio = _table(summary, "numbers").get("ratio")
    good, state = _state(manifest, summary, there)
    return Listed(name, f"/{quote(os.fsencode(name))}/{_REPORT}" if there else "", str(table.get("name", "unknown")),
                  str(table.get("world", "")), str(table.get("seed", "")), _date(manifest.get("started")),
                  f"{100 * ratio:.1f}\u00a0%" if isinstance(ratio, int | float) else "–", good, state,
                  "" if there else f"roamcast analyse {shlex.quote(str(path))}")


def _state(manifest: dict[str, Any], summary: dict[str, Any], there: bool) -> tuple[bool, str]:
    """Whether the run's numbers can be relied on, and in words."""
    because, outcome = summary.get("invalid_because"), manifest.get("outcome")
    if not summary or not there:
        return False, "not analysed"
    if because:
        return False, f"not valid: {'; '.join(map(str, because)) if isinstance(because, list) else because}"
    if summary.get("correct") is not True:
        return False, "safety is violated"
    if summary.get("rules") != RULES:
        return False, "counted by another version; analyse it again"
    if outcome != "complete":
        return False, f"ended early: {outcome}" if isinstance(outcome, str) else "nothing says how it ended"
    return True, "valid"


def _read(path: Path) -> dict[str, Any]:
    """A file of the run, TOML or JSON; nothing where it cannot be read."""
    try:
        if not stat.S_ISREG(_mode(path)) or path.lstat().st_size > LARGEST:
            return {}
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _table(of: dict[str, Any], key: str) -> dict[str, Any]:
    found = of.get(key)
    return found if isinstance(found, dict) else {}


def _date(started: object) -> str:
    """In UTC; "" where nothing says it with its time zone."""
    try:
        at = datetime.fromisoformat(started) if isinstance(started, str) else None
        return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}" if at is not None and at.tzinfo else ""
    except (ValueError, OverflowError):
        return ""


def _page(folder: Path) -> str:
    try:
        runs, links = listed(folder)
        trouble = ""
    except OSError as error:
        runs, links, trouble = [], 0, f"The folder cannot be read: {error.strerror}."
    return page.text("runs.html", (), folder=str(folder), runs=runs, links=links, trouble=trouble)
