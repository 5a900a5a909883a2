"""What this world asks of the Linux kernel that Python 3.11 has no function for.

namespaces(7), user_namespaces(7), pid_namespaces(7), prctl(2); TUN/TAP as in the kernel's
Documentation/networking/tuntap.rst.
"""
from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
import signal
import struct
from collections.abc import Callable
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
PR_SET_PDEATHSIG, PR_SET_TIMERSLACK = 1, 29
TUNSETIFF, TUNSETIFINDEX = 0x400454CA, 0x400454DA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
NICE = -10  # of nodes
PRIORITY = 10  # of the medium among real-time processes (1 to 99)
TUN = "/dev/net/tun"

_libc = ctypes.CDLL(None, use_errno=True)


class Unsupported(Exception):
    """This machine cannot hold a world of namespaces; str() is one sentence with the cure."""


def _call(name: str, *arguments: int) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), name)


def unshare(flags: int) -> None:
    """Move this process into new namespaces. Raises OSError."""
    _call("unshare", flags)


def mount(what: str, at: str, kind: str, flags: int = 0) -> None:
    """Raises OSError."""
    if _libc.mount(what.encode(), at.encode(), kind.encode(), ctypes.c_ulong(flags), None) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), at)


def make_mounts() -> None:
    """Move this process into a mount namespace of its own, from which no mount gets out. Raises OSError.

    In a chroot `/` is no mount point, and what is none cannot be made private: that is done at the namespace's own root.
    """
    unshare(CLONE_NEWNS)
    root, folder, space = (os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in ("/", ".", "/proc/self/ns/mnt"))
    try:
        setns(space, CLONE_NEWNS)  # "/" is then where the namespace begins
        mount("none", "/", "none", MS_REC | MS_PRIVATE)
        os.fchdir(root)
        os.chroot(".")
        os.fchdir(folder)
    finally:
        for descriptor in (root, folder, space):
            os.close(descriptor)


def make_network() -> None:
    """Move this process into a new network namespace. Raises Unsupported."""
    try:
        unshare(CLONE_NEWNET)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise Unsupported("no more network namespaces are allowed; raise the limit as root (sysctl "
                              "user.max_net_namespaces), or use fewer hosts") from None
        raise Unsupported(f"this system cannot create network namespaces ({error.strerror}); "
                          "use --world sim") from None


def setns(descriptor: int, kind: int) -> None:
    """Move this process into the namespace behind a descriptor. Raises OSError."""
    _call("setns", descriptor, kind)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the thread that forked it ends; `parent` is its process."""
    _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() not in (parent, 0):  # it ended before we asked; 0: it is in an outer pid namespace
        os._exit(1)


def wake_on_time() -> None:
    """Let this process's timers fire when they are due instead of up to 50 us later."""
    _call("prctl", PR_SET_TIMERSLACK, 1, 0, 0, 0)


def enter_namespaces() -> None:
    """The children of this process are in a pid namespace of their own and may make network namespaces.

    Where the process has not the rights for that, it becomes root of a new user namespace first,
    in which its own user and group are the only ones. Raises Unsupported.
    """
    try:
        unshare(CLONE_NEWPID)
        return
    except OSError as error:
        if error.errno != errno.EPERM:
            raise Unsupported(f"this kernel cannot create pid namespaces ({error.strerror}); "
                              "use --world sim") from None
    user, group = os.geteuid(), os.getegid()
    try:
        unshare(CLONE_NEWUSER | CLONE_NEWPID)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    except OSError as error:
        raise Unsupported(_no_user_namespaces(user, error)) from None


def _no_user_namespaces(user: int, error: OSError) -> str:
    why = "none are left or allowed" if error.errno == errno.ENOSPC else error.strerror
    if user == 0:
        return ("root lacks root's rights here, as in a container, and cannot create user namespaces either "
                f"({why}); grant the capability SYS_ADMIN, or use --world sim")
    return ("an ordinary user needs user namespaces for this world, and this system refuses them "
            f"({why}); run as root, or use --world sim")


def open_tap(name: str, index: int) -> int:
    """The descriptor of a new TAP device in this network namespace; it is gone when the descriptor closes.

    `index` of the interface. Raises Unsupported.
    """
    try:
        descriptor = os.open(TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Unsupported(_no_tun(error)) from None
    try:
        fcntl.ioctl(descriptor, TUNSETIFINDEX, struct.pack("I", index))
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    except OSError as error:
        os.close(descriptor)
        raise Unsupported(f"{TUN} cannot create a TAP device ({error.strerror}); use --world sim") from None
    return descriptor


def _no_tun(error: OSError) -> str:
    if error.errno in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return f"{TUN} does not exist; load it as root (modprobe tun), or use --world sim"
    return f"{TUN} cannot be opened ({error.strerror}); make it writable for you, or use --world sim"


def check_support(device: Callable[[], object]) -> None:
    """Try in a process apart whether namespaces can be had, and a device in them. Raises Unsupported.

    `device` makes one in this process's namespace; it is gone with it.
    """
    if not os.path.exists("/proc/self/ns/net"):
        raise Unsupported("/proc is not mounted; mount it (mount -t proc proc /proc), or use --world sim")
    reading, writing = os.pipe()
    try:
        child = os.fork()
    except OSError as error:
        raise Unsupported(f"cannot start another process ({error.strerror}); raise the limit (ulimit -u), "
                          "or use --world sim") from None
    if child == 0:
        reason = ""
        try:
            enter_namespaces()
            make_network()
            device()
        except Unsupported as error:
            reason = str(error)
        except BaseException as error:
            reason = f"this system cannot create hosts ({type(error).__name__}: {error}); use --world sim"
        os.write(writing, reason.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answer:
        reason = answer.read().decode()
    os.waitpid(child, 0)
    if reason:
        raise Unsupported(reason)


def allow_files(wanted: int) -> int:
    """Raise the limit of open files to `wanted` where that is allowed; the limit that holds then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == resource.RLIM_INFINITY else soft


def prefer() -> str:
    """Put this process before all others where that is allowed; what it got, in words."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))
        return "real-time"
    except OSError:
        return "normal"


def hasten() -> None:
    """Put this process before ordinary ones where that is allowed: what else runs here disturbs less."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
    except OSError:
        pass


def process_start(pid: int) -> int | None:
    """When a process began (clock ticks since boot), which tells it from a later one of its number; None
    when it has ended."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if state in "ZX" else int(fields[18])
    except (OSError, ValueError, IndexError):
        return None
