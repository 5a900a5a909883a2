"""Hosts that are network namespaces behind one bridge, with the real daemon on each, and how to wait for things.

The namespaces need root and are taken down at the end; nothing leaves them.
"""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from node.client import Client

ROOT = Path(__file__).resolve().parents[2]
QUICK = "[node]\nhello_interval = 0.1\nleader_interval = 0.2\nsecret = 'of the tests'\n"
PATIENCE = 300.0  # s; a machine under load is slow

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")


def inside(namespace: str) -> list[str]:
    """What runs a program in a network namespace. `ip -n` and `ip netns exec` change mounts, which fails in a chroot."""
    return ["nsenter", f"--net=/run/netns/{namespace}"]


def ip(*words: str, at: str | None = None) -> str:
    """`ip` at a network namespace, or here; what it says."""
    return subprocess.run([*(inside(at) if at else ()), "ip", *words], check=True, capture_output=True, text=True).stdout


def until(condition, what: str):
    """Wait for a condition to hold, and hand its value out."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError(f"in {PATIENCE:g} s: {what}")


@pytest.fixture(scope="module")
def hosts():
    """Names of three namespaces whose interfaces `radio` share one broadcast domain: 10.77.0.1 to .3."""
    tag = f"roamcast-{os.getpid()}"
    names = [f"{tag}-{i}" for i in range(4)]  # the first holds the bridge
    if subprocess.run(["ip", "netns", "add", tag], check=False, capture_output=True).returncode:
        pytest.skip("this system has no network namespaces to give")
    subprocess.run(["ip", "netns", "delete", tag], check=True)
    try:
        for name in names:
            ip("netns", "add", name)
        tried = subprocess.run([*inside(names[0]), "true"], check=False, capture_output=True, text=True)
        if tried.returncode:  # in a container
            pytest.skip(f"this system has no network namespaces to give: {tried.stderr.strip()}")
        ip("link", "add", "air", "type", "bridge", at=names[0])
        ip("link", "set", "air", "up", at=names[0])
        for i, name in enumerate(names[1:], 1):
            ip("link", "add", f"port{i}", "type", "veth", "peer", "name", "radio", "netns", name, at=names[0])
            ip("link", "set", f"port{i}", "master", "air", "up", at=names[0])
            ip("address", "add", f"10.77.0.{i}/24", "brd", "+", "dev", "radio", at=name)
            ip("link", "set", "radio", "up", at=name)
        yield names[1:]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


class Host:
    """One host of the test: where its node's files are, and its daemon while that runs."""

    def __init__(self, namespace: str, node: int, folder: Path) -> None:
        self.namespace, self.node, self.folder = namespace, node, folder
        self.socket, self.records = folder / f"{node}.sock", folder / f"{node}.jsonl"
        self.process: subprocess.Popen | None = None
        folder.joinpath("quick.toml").write_text(QUICK)

    def command(self, *more: str) -> list[str]:
        """`more` are options with their values; they take the place of the usual ones."""
        usual = {"--id": str(self.node), "--interface": "radio", "--control": str(self.socket),
                 "--records": str(self.records), "--state": str(self.folder / f"{self.node}.state"),
                 "--config": str(self.folder / "quick.toml")}
        return [*inside(self.namespace), sys.executable, "-P", "-m", "cli", "node",
                *(word for option, value in usual.items() if option not in more for word in (option, value)), *more]

    def start(self, *more: str) -> None:
        self.process = subprocess.Popen(self.command(*more), env=environment(), stderr=subprocess.PIPE, text=True)

    def fails(self, *more: str) -> str:
        """What a start that cannot be says."""
        done = subprocess.run(self.command(*more), env=environment(), capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    def ready(self) -> None:
        until(self.socket.exists, f"no control socket of node {self.node}")

    def end(self, how: int = signal.SIGTERM) -> str:
        self.process.send_signal(how)
        _, said = self.process.communicate(timeout=PATIENCE)
        return said

    def kinds(self, kind: str) -> list[dict]:
        whole = [line for line in self.records.read_text().splitlines(True) if line.endswith("\n")]
        return [record for record in map(json.loads, whole) if record["kind"] == kind]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def three(hosts, tmp_path):
    made = [Host(name, node, tmp_path) for node, name in enumerate(hosts, 1)]
    yield made
    for host in made:
        if host.process is not None and host.process.poll() is None:
            host.process.kill()
            host.process.communicate()


def joined(three: list[Host]) -> None:
    """Wait until the three are one tree."""
    def leaders() -> set:
        return {(host.kinds("tree_state") or [{"leader": host.node}])[-1]["leader"] for host in three}

    until(lambda: all(host.records.exists() for host in three) and len(leaders()) == 1, "no common leader")


def received(publisher: Client, subscriber: Client, attributes: dict) -> tuple:
    """Publish until the subscription has spread and the event arrives: (its id, what was received)."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        name = publisher.publish(attributes, b"\x00payload")
        event = subscriber.receive(0.5)
        if event is not None:
            return name, event
    raise AssertionError("nothing was received")
