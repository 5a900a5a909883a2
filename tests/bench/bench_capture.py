"""What a capture loses: the ring of emulation/linux/sniffer.py and scapy's sniffer (to a pcap file, nothing dissected), side by side.

Frames go over a pair of virtual interfaces in a network namespace of its own, at a steady pace and as fast as one process
sends; beside each line, what the capture's process cost. Needs root.

Run by name: python tests/bench/bench_capture.py [frames of each run] [frames a second, 0 for no pace ...]
"""
from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from emulation import capture  # noqa: E402
from emulation.linux import kernel  # noqa: E402

SCAPY = """
import signal, sys
from scapy.all import conf, sniff
from scapy.utils import PcapWriter
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
writer = PcapWriter(sys.argv[2], nano=True)
listening = conf.L2listen(iface=sys.argv[1])
print("ready", flush=True)
while not stop:
    sniff(opened_socket=listening, store=False, prn=writer.write, timeout=0.1)
writer.close()
"""
RING = """
import signal, sys
from pathlib import Path
from emulation.linux.sniffer import Sniffer
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
sniffer = Sniffer(sys.argv[1], Path(sys.argv[2]))
print("ready", flush=True)
sniffer.run(lambda: not stop)
"""
KIND = b"\x88\xb5"  # an Ethernet type for experiments
FRAME = b"\xff" * 6 + b"\x02\0\0\0\0\1" + KIND + bytes(186)
PACES = (2000.0, 10_000.0, 0.0)


def measure(program: str, frames: int, pace: float, folder: Path) -> tuple[float, float]:
    """(share of the frames that were lost, us of processor time for each)."""
    path = folder / f"{time.monotonic_ns()}.pcap"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([sys.executable, "-c", program, "vb", str(path)], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": str(ROOT)})
    process.stdout.readline()
    idle = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    started = sum(map(int, idle[11:13])) / os.sysconf("SC_CLK_TCK")
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("va", 0))
        begun = time.monotonic()
        for k in range(frames):
            sender.send(FRAME)
            if pace and (ahead := begun + k / pace - time.monotonic()) > 0.001:
                time.sleep(ahead)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - started
    seen = sum(frame[12:14] == KIND for _, frame in capture.read(path))
    path.unlink()
    return 1.0 - seen / frames, 1e6 * spent / frames


def main() -> None:
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    kernel.unshare(kernel.CLONE_NEWNET)
    for command in ("link add name va type veth peer name vb", "link set va up", "link set vb up"):
        subprocess.run(["ip", *command.split()], check=True)
    print(f"{'frames/s':>9} {'ring lost':>10} {'us/frame':>9} {'scapy lost':>11} {'us/frame':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for pace in map(float, sys.argv[2:] or PACES):
            ring, scapy = (measure(program, frames, pace, Path(folder)) for program in (RING, SCAPY))
            print(f"{f'{pace:g}' if pace else 'all':>9} {ring[0]:10.2%} {ring[1]:9.1f} {scapy[0]:11.2%} {scapy[1]:9.1f}", flush=True)


if __name__ == "__main__":
    main()
