"""One host: the process that makes its namespace, answers the probes and then is its node."""
from __future__ import annotations

import os
import signal

from emulation import addresses
from emulation.linux import kernel, watch
from emulation.realtime import node, probe
from emulation.realtime.channel import Channel
from emulation.realtime.plan import Plan

SELF = "/proc/self/ns/net"


def make(plan: Plan, host: int, channel: Channel) -> None:
    """Make the host, hand out its device's other end, its namespace and the way to watch its interfaces, and do as the
    supervisor says."""
    handed = plan.fabric.make(plan, host), os.open(SELF, os.O_RDONLY), watch.open_watch()
    channel.send({"made": host}, handed)
    for descriptor in handed:
        os.close(descriptor)
    prober = probe.Socket(host)
    while (order := channel.receive()) is not None:
        if "probe" in order:
            channel.send({"heard": prober.round(*order["probe"])})
            continue
        prober.close()
        if order["node"]:
            node.run(plan, host, order["epoch"], None, channel)
        return


def again(plan: Plan, host: int, space: int, epoch: int, began: float, channel: Channel) -> None:
    """A further life of the host's node, in the namespace that it had."""
    kernel.setns(space, kernel.CLONE_NEWNET)
    node.run(plan, host, epoch, began, channel)


def execute(plan: Plan, host: int, space: int, command: list[str], channel: Channel) -> None:
    """Become a command of the host's. What keeps it from starting goes over the channel."""
    kernel.setns(space, kernel.CLONE_NEWNET)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    log = os.open(plan.path / "programs" / f"{host}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    null = os.open(os.devnull, os.O_RDONLY)
    for descriptor, at in ((null, 0), (log, 1), (log, 2)):
        os.dup2(descriptor, at)
    os.chdir(plan.cwd)
    names = {"ROAMCAST_HOST": str(host), "ROAMCAST_INTERFACE": addresses.INTERFACE,
             "ROAMCAST_ADDRESS": str(addresses.ipv4(host)), "ROAMCAST_RUN": str(plan.path)}
    try:
        os.execvpe(command[0], command, {**os.environ, **names})
    except OSError as error:
        channel.send({"failed": f"{command[0]}: {error.strerror}"})
        raise SystemExit(127) from None
