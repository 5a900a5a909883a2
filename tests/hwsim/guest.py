"""A Debian guest whose kernel has virtual 802.11 radios (mac80211_hwsim), under QEMU's software emulation.

It needs neither KVM nor wireless support in the host's kernel, only root on a Debian or Ubuntu (amd64) and Debian's
packages. The guest is Debian 12 with Python 3.11 and, in /opt/roamcast, the libraries that Roamcast's worlds need, at the
versions and hashes of requirements.lock.

Its one processor does a thousand million instructions a second of the guest's own clock, which counts them, and jumps to
the next timer where there is nothing to do. However slow the emulation is, and whatever else the host does, the guest is
like a small computer that nobody else uses. By that clock a disk would be very slow, so there is none: the whole system is
the kernel's initial file system, in memory. Only /host is outside; a job should not wait for it while it measures.

    python tests/hwsim/guest.py build FOLDER              makes FOLDER/kernel and FOLDER/system
    python tests/hwsim/guest.py run FOLDER SHARE [SECONDS]

`run` boots it; SHARE is /host in there, and SHARE/job is run as root in that folder. What it prints goes to SHARE/log,
and here; its exit code to SHARE/code.
"""
from __future__ import annotations

import contextlib
import lzma
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
SUITE = "bookworm"
PROGRAMS = {"mmdebstrap": "mmdebstrap", "qemu-system-x86_64": "qemu-system-x86"}
PACKAGES = ("kmod", "iproute2", "iw", "iputils-ping", "python3", "python3-venv", "wireless-regdb")
LIBRARIES = ("annotated-types", "attrs", "cbor2", "idna", "numpy", "outcome", "pydantic", "pydantic-core", "scapy", "scipy",
             "sniffio", "sortedcontainers", "tomli-w", "trio", "typing-extensions", "typing-inspection")
MODULES = ("virtio_pci", "9p", "9pnet_virtio", "mac80211_hwsim", "tun", "veth")
MEMORY = 3072  # MiB
LEFT_OUT = ("boot", "dev", "host", "kernel", "proc", "run", "sys", "tmp", "usr/share/doc", "usr/share/man", "usr/share/locale",
            "usr/share/zoneinfo", "usr/share/perl", "usr/lib/x86_64-linux-gnu/perl", "var/cache", "var/lib/apt", "var/lib/dpkg")
EMPTY = ("dev", "host", "proc", "run", "sys", "tmp")  # to mount on
SECONDS = 600

GET_KERNEL = """set -e
cd /
apt-get -q download "$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \\(linux-image-.*\\)/\\1/p')"
dpkg-deb -x linux-image-*.deb /kernel
rm linux-image-*.deb
"""
FIRST = """#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
for module in virtio_pci 9pnet_virtio 9p; do modprobe $module; done
mount -t devpts devpts /dev/pts; mount -t tmpfs shm /dev/shm; mount -t tmpfs run /run; mount -t tmpfs tmp /tmp
mount -t debugfs debug /sys/kernel/debug; mkdir -p /run/netns
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 host /host
ip link set lo up; hostname guest
cd /host && ./job >log 2>&1
echo $? >code
cd /; umount /host; sync; echo o >/proc/sysrq-trigger; sleep 60
"""


class NoGuest(Exception):
    """The guest cannot be made or did not do its job; str() is one sentence."""


# ---- making it -------------------------------------------------------------------------------------------
def build(folder: Path) -> None:
    """Make the guest's three files in a folder. Raises NoGuest."""
    if os.geteuid() != 0:
        raise NoGuest("making the guest needs root")
    _get_programs()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="guest-", dir=folder) as scratch:
        root = Path(scratch, "root")
        _do("mmdebstrap", "--quiet", "--variant=minbase", "--mode=root", '--aptopt=APT::Install-Recommends "false"',
            *(f"--dpkgopt=path-exclude=/usr/share/{part}/*" for part in ("doc", "man", "locale")),
            f"--include={','.join(PACKAGES)}", f'--customize-hook=chroot "$1" sh -c \'{_quoted(GET_KERNEL)}\'',
            SUITE, str(root))
        _install_libraries(root, Path(scratch, "wheels"))
        version = next((root / "kernel/lib/modules").iterdir()).name
        _modules(root, version)
        _write_kernel(root / f"kernel/boot/vmlinuz-{version}", folder / "kernel")
        (root / "init").write_text(FIRST)
        (root / "init").chmod(0o755)
        with (folder / "system.new").open("wb") as file:
            file.writelines(_newc(root))
        (folder / "system.new").rename(folder / "system")  # the last: who sees it has a whole guest


def _get_programs() -> None:
    missing = [package for program, package in PROGRAMS.items() if shutil.which(program) is None]
    if missing:
        _do("apt-get", "-q", "update")
        _do("apt-get", "-q", "install", "-y", "--no-install-recommends", *missing)


def _quoted(script: str) -> str:
    """A script within single quotes within a shell's command."""
    return script.replace("'", "'\\''")


def wheels(folder: Path) -> None:
    """A wheelhouse: LIBRARIES for the guest's Python, by the hashes of requirements.lock. Raises NoGuest."""
    lock = LOCK.read_text()
    entries = [re.search(rf"^{re.escape(name)}==(?:.*\\\n)*.*", lock, re.MULTILINE) for name in LIBRARIES]
    wanted = [entry.group() for entry in entries if entry is not None]
    folder.mkdir()
    (folder / "libraries.txt").write_text("\n".join(wanted) + "\n")
    _do(*pip(), "download", "-q", "--no-deps", "--require-hashes", "--only-binary=:all:", "--python-version=3.11",
        "--platform=manylinux_2_28_x86_64", "--platform=manylinux2014_x86_64", "--platform=manylinux_2_27_x86_64",
        "-d", str(folder), "-r", str(folder / "libraries.txt"))


def pip() -> list[str]:
    """The command of a pip, which need not be installed."""
    for folder in (Path("/usr/share/python-wheels"), Path(os.__file__).parent / "ensurepip/_bundled"):
        for wheel in sorted(folder.glob("pip-*.whl")):
            return [sys.executable, f"{wheel}/pip", "--disable-pip-version-check"]
    return [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def _install_libraries(root: Path, house: Path) -> None:
    wheels(house)
    inside = root / "wheels"
    shutil.copytree(house, inside)
    _do("chroot", str(root), "python3", "-m", "venv", "/opt/roamcast")
    _do("chroot", str(root), "/opt/roamcast/bin/pip", "install", "-q", "--no-index", "--no-deps", "--find-links=/wheels",
        "--require-hashes", "-r", "/wheels/libraries.txt")
    shutil.rmtree(inside)


def _modules(root: Path, version: str) -> None:
    """Of the kernel's modules those in MODULES and what they need, in place."""
    source, target = root / "kernel/lib/modules" / version, root / "lib/modules" / version
    _do("chroot", str(root), "depmod", "-b", "/kernel", version)
    needs = {}
    for line in (source / "modules.dep").read_text().splitlines():
        path, _, others = line.partition(":")
        needs[path.rpartition("/")[2].partition(".")[0].replace("-", "_")] = [path, *others.split()]
    for path in {path for module in MODULES for path in needs.get(module, ())}:  # what is built in is not there
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / path, target / path)
    for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        shutil.copy(source / name, target)
    _do("chroot", str(root), "depmod", version)


def _write_kernel(packed: Path, unpacked: Path) -> None:
    """The kernel without its own decompressor, which a software-emulated processor takes many seconds for.

    The place of what is packed is in the header: Documentation/x86/boot.rst, setup_sects, payload_offset.
    """
    image = packed.read_bytes()
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (image[0x1F1] + 1) * 512 + offset
    unpacked.write_bytes(lzma.LZMADecompressor().decompress(image[start:start + length]))


def _newc(root: Path) -> Iterator[bytes]:
    """A folder as a cpio archive of the kind that the kernel unpacks (Documentation/driver-api/early-userspace)."""
    number = 0

    def entry(name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0), changed: float = 0.0) -> bytes:
        nonlocal number
        number += 1
        fields = (number, mode, 0, 0, 1, int(changed), len(data), 0, 0, *device, len(name.encode()) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)

    for folder, folders, files in os.walk(root):
        within = os.path.relpath(folder, root)
        inside = {name: name if within == "." else f"{within}/{name}" for name in sorted(folders + files)}
        folders[:] = [name for name in folders if inside[name] not in LEFT_OUT and name != "tests"]
        for name, path in inside.items():
            full, kind = Path(folder, name), os.lstat(Path(folder, name)).st_mode
            if stat.S_ISLNK(kind):
                yield entry(path, kind, os.readlink(full).encode())
            elif stat.S_ISDIR(kind):
                if name in folders:
                    yield entry(path, kind)
            elif stat.S_ISREG(kind) and path not in LEFT_OUT:
                yield entry(path, kind, full.read_bytes(), changed=full.stat().st_mtime)  # Python compiles anew what changed
    for name in EMPTY:
        yield entry(name, stat.S_IFDIR | 0o755)
    yield entry("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    yield entry("TRAILER!!!", 0)


# ---- running it ------------------------------------------------------------------------------------------
def run(folder: Path, share: Path, seconds: float = SECONDS) -> tuple[int, str]:
    """Boot the guest and let it do SHARE/job; its exit code and what it printed. Raises NoGuest."""
    share = share.resolve()
    for name in ("log", "code"):
        (share / name).unlink(missing_ok=True)
    if not os.access(share / "job", os.X_OK):
        raise NoGuest(f"{share / 'job'} is missing or cannot be executed")
    command = ["nice", "-n", "10", "qemu-system-x86_64", "-accel", "tcg,thread=single,tb-size=512", "-icount", "shift=0,sleep=off", "-rtc", "clock=vm",
               "-cpu", "max", "-M", "pc", "-m", str(MEMORY), "-nodefaults", "-no-reboot",
               "-display", "none", "-serial", f"file:{share / 'console'}", "-kernel", str(folder / "kernel"),
               "-initrd", str(folder / "system"), "-append", "console=ttyS0 quiet panic=-1 mitigations=off nokaslr",
               "-virtfs", f"local,path={share},mount_tag=host,security_model=none,multidevs=remap"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as machine:
        try:
            said, _ = machine.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            said = f"it was ended after {seconds:g} s"
        finally:
            machine.kill()
    log = (share / "log").read_text(errors="replace") if (share / "log").exists() else ""
    with contextlib.suppress(OSError, ValueError):
        return int((share / "code").read_text()), log
    raise NoGuest(f"the guest did not finish its job ({said.strip() or 'it stopped by itself'}); see {share / 'console'} "
                  f"and {share / 'log'}, which ends with: {log[-500:]}")


def _do(*command: str) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"})
    if done.returncode:
        raise NoGuest(f"{' '.join(command)[:200]} failed: {done.stdout[-2000:]}")


def main(verb: str, folder: str, *more: str) -> int:
    try:
        if verb == "build":
            build(Path(folder))
            return 0
        code, log = run(Path(folder), Path(more[0]), *map(float, more[1:2]))
        print(log, end="")
        return code
    except NoGuest as error:
        print(f"guest: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) > 2 else __doc__)
