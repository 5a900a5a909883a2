"""`roamcast serve`: the list of runs and their reports, and all that must not be given out."""
from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from analysis import RULES, serve
from cli.main import main
from tests.cli.command import start

MANIFEST = {"outcome": "complete", "started": "2026-11-29T09:13:28+00:00"}
SUMMARY = {"rules": RULES, "correct": True, "numbers": {"ratio": 0.9694}, "invalid_because": []}


def made(folder: Path, name: str, manifest: dict = MANIFEST, summary: dict | None = SUMMARY, report: str | None = "<p>report</p>") -> Path:
    path = folder / name
    path.mkdir(parents=True)
    (path / "scenario.toml").write_text(f'[run]\nname = "of {name.encode(errors="replace").decode()}"\nworld = "sim"\nseed = 7\n')
    (path / "manifest.json").write_text(json.dumps(manifest))
    if summary is not None:
        (path / "summary.json").write_text(json.dumps(summary))
    if report is not None:
        (path / "report.html").write_text(report)
    return path


@pytest.fixture
def folder(tmp_path):
    runs = tmp_path / "runs"
    made(runs, "good")
    made(runs, "fresh", summary=None, report=None)
    (runs / "studies").mkdir()
    secret = made(tmp_path, "outside", report="secret")
    (runs / "away").symlink_to(secret)
    os.unlink(made(runs, "sly") / "report.html")
    (runs / "sly" / "report.html").symlink_to(secret / "report.html")
    return runs


@pytest.fixture
def ask(folder):
    """ask(path, method, host=...) -> status, headers, body."""
    serving = serve.server(folder, 0)
    thread = threading.Thread(target=serving.serve_forever, args=(0.05,))
    thread.start()

    def asked(path: str, method: str = "GET", host: str | None = None) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=60)
        connection.putrequest(method, path, skip_host=True)
        for name in [host or f"127.0.0.1:{serving.port}"] if host != "" else []:
            connection.putheader("Host", name.replace("PORT", str(serving.port)))
        connection.endheaders()
        answer = connection.getresponse()
        found = answer.status, dict(answer.headers), answer.read().decode()
        connection.close()
        return found

    yield asked
    serving.shutdown()
    thread.join()
    serving.server_close()


def test_the_list_has_every_run_and_leads_to_its_report(ask, folder):
    status, headers, page = ask("/")
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8" and "default-src 'none'" in headers["Content-Security-Policy"]
    assert '<a href="/good/report.html">good</a>' in page and "96.9\u00a0%" in page and "of good" in page and "2026-11-29 09:13" in page
    assert ask("/good/report.html")[::2] == (200, "<p>report</p>")
    assert ask("/good/report.html", "HEAD")[::2] == (200, "") and ask("/good/report.html", "HEAD")[1]["Content-Length"] == "13"
    assert f"roamcast analyse {folder / 'fresh'}" in page and "/fresh/report.html" not in page
    assert "studies" not in page and "1 link in this folder was not followed" in page
    made(folder, "later")
    assert "/later/report.html" in ask("/")[2]


@pytest.mark.parametrize("path", [
    "/away/report.html", "/sly/report.html", "/../outside/report.html", "/%2e%2e/outside/report.html", "/..%2foutside/report.html",
    "/good/../../outside/report.html", "//outside/report.html", "/good/scenario.toml", "/good/", "/good", "/good/report.html/", "/fresh/report.html",
    "/studies/report.html", "/good%00/report.html", "/./report.html", "/no/report.html", "good/report.html", "/%ff/report.html"])
def test_nothing_else_is_given_out(ask, path):
    status, _, said = ask(path)
    assert status == 404 and "secret" not in said and said.endswith("the list of runs is at /\n")


def test_a_report_that_is_no_file_is_not_opened(ask, folder):
    os.mkfifo(made(folder, "pipe", report=None) / "report.html")
    (made(folder, "folder", report=None) / "report.html").mkdir()
    assert ask("/pipe/report.html")[0] == ask("/folder/report.html")[0] == 404
    assert "/pipe/report.html" not in ask("/")[2]


@pytest.mark.parametrize(("host", "status"), [
    ("localhost:PORT", 200), ("127.0.0.1:PORT", 200), ("evil.example:PORT", 403), ("127.0.0.1", 403), ("127.0.0.1:1", 403), ("", 403),
    ("127.0.0.1:PORT.evil.example", 403), ("[::1]:PORT", 403)])
def test_only_this_machine_s_own_names_are_answered(ask, host, status):
    assert ask("/", host=host)[0] == ask("/good/report.html", host=host)[0] == status


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "BREW"])
def test_other_methods_are_refused(ask, method):
    status, _, said = ask("/", method)
    assert (status, said) == (405, "405 Method Not Allowed: only GET and HEAD are answered\n")


@pytest.mark.parametrize(("manifest", "summary", "state"), [
    (MANIFEST, SUMMARY, "valid"),
    (MANIFEST, SUMMARY | {"invalid_because": ["the medium was late"]}, "not valid: the medium was late"),
    (MANIFEST, SUMMARY | {"correct": False}, "safety is violated"),
    (MANIFEST, SUMMARY | {"rules": RULES - 1}, "counted by another version; analyse it again"),
    (MANIFEST | {"outcome": "interrupted"}, SUMMARY, "ended early: interrupted"),
    (MANIFEST | {"started": 5}, SUMMARY, "valid"), ({}, SUMMARY, "nothing says how it ended"), (MANIFEST, None, "not analysed")])
def test_the_list_says_whether_a_run_is_valid(tmp_path, manifest, summary, state):
    made(tmp_path, "one", manifest, summary)
    (run,), links = serve.listed(tmp_path)
    assert (run.state, run.good, links) == (state, state == "valid", 0)


@pytest.mark.parametrize(("started", "shown"), [("2026-11-29T23:30:00-02:00", "2026-11-30 01:30"), ("2026-11-29T23:30:00", ""),
                                                ("0001-01-01T00:00:00+23:00", ""), ("yesterday", ""), (None, "")])
def test_the_list_has_times_in_utc(tmp_path, started, shown):
    made(tmp_path, "one", MANIFEST | {"started": started})
    assert serve.listed(tmp_path)[0][0].started == shown


def test_a_browser_that_leaves_is_no_trouble(ask, folder, capfd):
    (folder / "good" / "report.html").write_bytes(b"x" * (8 << 20))
    port = int(ask("/", host="none")[2].split(":")[-1].strip("/\n"))
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(f"GET /good/report.html HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # reset
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"\0nonsense\r\n\r\n")
        assert b"not a request" in client.recv(10_000)
    assert ask("/")[0] == 200 and capfd.readouterr().err == ""


def test_strange_names_and_broken_files_are_listed(ask, folder):
    made(folder, '<b>"a&b" ü', report="markup")
    made(folder, os.fsdecode(b"\xff"), report="bytes")
    for name in ("scenario.toml", "manifest.json", "summary.json"):
        (made(folder, f"broken-{name}") / name).write_text('["x"' * 5000)
    (made(folder, "odd") / "summary.json").write_text('{"numbers": [1], "invalid_because": 3, "rules": "x"}')
    page = ask("/")[2]
    assert "<b>" not in page and ask("/%3Cb%3E%22a%26b%22%20%C3%BC/report.html")[::2] == (200, "markup")
    assert 'href="/%3Cb%3E%22a%26b%22%20%C3%BC/report.html"' in page and ask("/%FF/report.html")[2] == "bytes"
    assert page.count("broken-") >= 3 and "not valid: 3" in page


def test_what_cannot_be_served_is_a_sentence(tmp_path, folder, capsys):
    assert main(["serve", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == f"roamcast: {tmp_path / 'none'}: no such folder; give the one that your runs lie in\n"
    assert main(["serve", str(folder / "good")]) == 2
    assert capsys.readouterr().err == f"roamcast: {folder / 'good'}: is one run; give the folder that it lies in, {folder}\n"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", str(folder), "--port", str(port)]) == 2
    assert capsys.readouterr().err == (f"roamcast: 127.0.0.1:{port}: cannot be listened on (Address already in use); give another with "
                                       "--port, or 0 for any that is free\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_on_loopback_and_ends_with_ctrl_c(folder, number):
    process = start("serve", "runs", "--port", "0", cwd=folder.parent)
    said = process.stdout.readline()
    port = int(said.rpartition(":")[2].partition("/")[0])
    assert said == f"3 runs in runs: http://127.0.0.1:{port}/ (Ctrl-C ends)\n"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/good/report.html")
    assert connection.getresponse().read() == b"<p>report</p>"
    connection.close()
    with pytest.raises(OSError):  # loopback has other addresses; it listens on one
        socket.create_connection(("127.0.0.2", port), 5).close()
    process.send_signal(number)
    out, err = process.communicate(timeout=600)
    assert (process.returncode, out, err) == (0, "", "")
