"""Inside the guest: field nodes on real 802.11 radios in ad hoc mode, each in a namespace of its own, as on hosts of their own.

hwsim without a medium lets all of them hear each other. Each node is `roamcast node`, each radio set up by `roamcast
radio`, in a fork of this process that has everything imported: starting programs is what this processor is worst at.

    python field.py OUT    writes what was published and delivered in each phase to OUT, as JSON
"""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from cli.main import main as roamcast
from emulation.linux import kernel
from node import daemon  # noqa: F401 (imported before the forks)
from node.client import Client, ClientError

NODES, ROUNDS = 10, 5
PACE = 0.25  # s between two events: one processor is that of all ten hosts
FOLDER = Path("/tmp/field")
PATIENCE = 60.0  # s
RESTARTED, INTERRUPTED = 3, 5
CLONE_NEWNS = 0x20000  # unshare(2)
CELL = "02:ca:fe:00:00:01"


def command(*words: str) -> None:
    subprocess.run(words, check=True)


def fork(number: int, log: str, *words: str) -> int:
    """`roamcast WORDS` in a node's namespace."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        space = os.open(f"/run/netns/n{number}", os.O_RDONLY)
        kernel.setns(space, kernel.CLONE_NEWNET)
        if words[0] == "radio":  # iw looks for radios in /sys, which must be this namespace's
            kernel.unshare(CLONE_NEWNS)
            command("mount", "-t", "sysfs", "sys", "/sys")
        out = os.open(FOLDER / log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(out, 1)
        os.dup2(out, 2)
        code = roamcast(words)
    finally:
        sys.stdout.flush()
        os._exit(code)


def radio_up(number: int) -> None:
    pid = fork(number, f"{number}.radio", "radio", "up", f"wlan{number}", "--ibss", "manet", "--channel", "1", "--bssid", CELL,
               "--address", f"10.77.0.{number + 1}/24")
    if os.waitpid(pid, 0)[1]:
        raise SystemExit((FOLDER / f"{number}.radio").read_text())


def start(number: int) -> int:
    return fork(number, f"{number}.node", "node", "--id", str(number), "--interface", f"wlan{number}", "--control",
                str(FOLDER / f"{number}.sock"), "--records", str(FOLDER / f"{number}.jsonl"), "--state",
                str(FOLDER / f"{number}.json"))


def client(number: int) -> Client:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return Client(FOLDER / f"{number}.sock", PATIENCE)
        except ClientError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def phase(name: str) -> dict[str, object]:
    """Everybody subscribes; once everybody hears everybody, each publishes ROUNDS events, of which each is due at all."""
    with ExitStack() as stack:
        clients = [stack.enter_context(client(number)) for number in range(NODES)]
        for one in clients:
            one.subscribe(f'phase = "{name}"')
        heard: list[set[tuple[int, int]]] = [set() for _ in clients]

        def listen(seconds: float) -> None:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                for one, found in zip(clients, heard, strict=True):
                    while (event := one.receive(0.002)) is not None:
                        found.add((event.attributes["from"], event.attributes["round"]))
                time.sleep(0.05)

        begun, settled = time.monotonic(), {(number, 0) for number in range(NODES)}
        while not all(settled <= found for found in heard):
            if time.monotonic() - begun > PATIENCE:
                missing = {number: sorted(settled - found) for number, found in enumerate(heard) if settled - found}
                return {"settled": None, "missing": missing}
            for number, one in enumerate(clients):
                one.publish({"phase": name, "from": number, "round": 0})
            listen(2.0)
        seconds = time.monotonic() - begun
        for turn in range(1, ROUNDS + 1):
            for number, one in enumerate(clients):
                one.publish({"phase": name, "from": number, "round": turn})
                listen(PACE)
        due = {(number, turn) for number in range(NODES) for turn in range(1, ROUNDS + 1)}
        end = time.monotonic() + 10.0
        while not all(due <= found for found in heard) and time.monotonic() < end:
            listen(0.2)
        return {"settled": round(seconds, 1), "due": len(due) * NODES, "delivered": sum(len(due & found) for found in heard)}


def main(out: str) -> None:
    FOLDER.mkdir()
    begun = time.monotonic()
    command("modprobe", "mac80211_hwsim", f"radios={NODES}")
    for number in range(NODES):
        command("ip", "netns", "add", f"n{number}")
        command("iw", "phy", f"phy{number}", "set", "netns", "name", f"n{number}")
        radio_up(number)
    found: dict[str, object] = {"radios_up": round(time.monotonic() - begun, 1)}
    nodes = [start(number) for number in range(NODES)]
    try:
        found["all"] = phase("all")
        os.kill(nodes[RESTARTED], signal.SIGTERM)
        found["exit"] = os.waitstatus_to_exitcode(os.waitpid(nodes[RESTARTED], 0)[1])
        nodes[RESTARTED] = start(RESTARTED)
        found["restarted"] = phase("restarted")
        command("ip", "-n", f"n{INTERRUPTED}", "link", "set", f"wlan{INTERRUPTED}", "down")
        time.sleep(4.0)
        radio_up(INTERRUPTED)
        found["interrupted"] = phase("interrupted")
        found["dead"] = [number for number, pid in enumerate(nodes) if os.waitpid(pid, os.WNOHANG)[0]]
    finally:
        for pid in nodes:
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        found["said"] = {path.name: path.read_text()[-2000:] for path in sorted(FOLDER.glob("*.node"))}
        Path(out).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
