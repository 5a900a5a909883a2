"""A run that goes on, seen from outside: its hosts' namespaces, for people at a host.

Its supervisor holds the namespaces open and says in live.json under which descriptors.
"""
from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

from emulation.linux import kernel
from emulation.realtime.channel import select_one

ENDING = 2.0  # s that a process may take to end
LOOK = 1.0  # s after which a SIGTERM is heeded at the latest that came just before a wait


class NotLive(Exception):
    """There is no such run, or it is over; str() is one sentence."""


class LiveRun:
    """The hosts of a run directory whose run goes on. Raises NotLive."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            live = json.loads((path / "live.json").read_text())
            self._pid, self._start, self._spaces = live["pid"], live["start"], live["spaces"]
        except (OSError, ValueError, KeyError, TypeError):
            manifest = path / "manifest.json"
            if not manifest.is_file():
                raise NotLive(f"{path}: not a run directory; give the one that `roamcast run` made") from None
            raise NotLive(f"{path}: no live run in a real-time world; hosts exist only while a run "
                          "lasts") from None
        self._check()

    def _check(self) -> None:
        if kernel.process_start(self._pid) != self._start:
            raise self._over()

    def _check_for(self, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            self._check()
            time.sleep(0.05)

    def _over(self) -> NotLive:
        return NotLive(f"{self.path}: the run is over, and its hosts are gone with it")

    def enter(self, host: int) -> None:
        """Move this process into a host's network, its children into the run's processes. Raises NotLive."""
        if self._spaces[host] < 0:
            raise NotLive(f"host {host} of {self.path} is a real device behind an interface; log in there")
        kinds = [(kernel.CLONE_NEWPID, f"/proc/{self._pid}/ns/pid"),
                 (kernel.CLONE_NEWNET, f"/proc/{self._pid}/fd/{self._spaces[host]}")]
        user = f"/proc/{self._pid}/ns/user"
        try:
            if os.stat(user).st_ino != os.stat("/proc/self/ns/user").st_ino:
                kinds.insert(0, (kernel.CLONE_NEWUSER, user))
            opened = [(kind, os.open(name, os.O_RDONLY | os.O_CLOEXEC)) for kind, name in kinds]
            for kind, descriptor in opened:
                kernel.setns(descriptor, kind)
                os.close(descriptor)
        except (FileNotFoundError, ProcessLookupError):  # a process that is ending has lost these before its state tells
            raise self._over() from None
        except OSError as error:
            self._check_for(ENDING)  # one that is ending lets nobody in, and is there for a moment still
            raise NotLive(f"host {host} of {self.path} cannot be entered ({error.strerror}); run this as the "
                          "user who started the run") from None

    def execute(self, host: int, command: list[str], variables: dict[str, str]) -> int:
        """Run a command inside a host, on this terminal; its exit code as a shell gives it.

        It ends with the run at the latest. Raises NotLive.
        """
        self.enter(host)
        try:
            child = os.fork()
        except OSError:  # no process begins where the first has ended
            raise self._over() from None
        if child == 0:
            try:
                os.execvpe(command[0], command, {**os.environ, **variables})
            except OSError as error:
                os.write(2, f"roamcast: {command[0]}: {error.strerror}\n".encode())
            finally:
                os._exit(127)
        ended = os.pidfd_open(child)
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command's to handle
        try:
            while not select_one(ended, LOOK):
                pass
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        finally:
            signal.signal(signal.SIGINT, before)
            os.close(ended)
        return code if code >= 0 else 128 - code
