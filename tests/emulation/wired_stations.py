"""In Mininet-WiFi's place, where there is none: stations on one wire, so that all hear all. Speaks as the driver does.

What is around Mininet-WiFi, the adapter, is then the real one: namespaces, captures, replay, faults, and the end of it all.
"""
from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys

CLONE_NEWNET = 0x40000000


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def make(number: int, address: str, channel: socket.socket) -> int:
    """A process in a namespace with a wlan0; its id."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        channel.close()  # or nobody would notice the end of the other process
        if ctypes.CDLL(None).unshare(CLONE_NEWNET):
            os._exit(1)
        os.write(writing, b"x")
        while True:
            signal.pause()
    os.read(reading, 1)
    ip("link", "add", "name", f"v{number}", "type", "veth", "peer", "name", "wlan0", "address", address, "netns", str(pid))
    ip("link", "set", f"v{number}", "master", "wire", "up")
    inside(pid, "link", "set", "wlan0", "up")
    return pid


def inside(pid: int, *words: str) -> None:
    subprocess.run(["nsenter", "-t", str(pid), "-n", "ip", *words], check=True)


def serve(channel: socket.socket) -> None:
    order = json.loads(channel.recv(1 << 18))
    ip("link", "add", "name", "wire", "type", "bridge")
    ip("link", "set", "wire", "up")
    pids = [make(number, address, channel) for number, (address, _, _) in enumerate(order["stations"])]
    if os.environ.get("HOME") != "/run" or os.listdir("/run"):
        raise SystemExit("not in mounts of its own")
    for number, pid in enumerate(pids):
        space = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        socket.send_fds(channel, [json.dumps({"station": number}).encode()], [space])
    while message := channel.recv(1 << 18):
        order = json.loads(message)
        if "radio" in order:
            number, on = order["radio"]
            inside(pids[number], "link", "set", "wlan0", "up" if on else "down")
        else:
            print("at", json.dumps(order["at"]), flush=True)  # into hosts.log
        channel.send(json.dumps({"done": order.get("radio")}).encode())


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
