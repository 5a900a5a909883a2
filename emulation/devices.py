"""Hosts that are clients only: which of a scenario's they are, and the node that they run in place of a broker."""
from __future__ import annotations

from collections.abc import Callable

from emulation import chance
from node import wire
from node.broker import Broker
from node.config import NodeConfig
from node.environment import Environment
from node.roaming.device import Device


def key(seed: int, host: int) -> bytes:
    """What the device tells its brokers to be known by, the same in all lives of the host."""
    return chance.stream(seed, "device", host).randbytes(16)


def maker(seed: int, roaming: frozenset[int], make_broker: Callable[..., Broker] = Broker) -> Callable[..., object]:
    """`make_broker(host, epoch, config, environment, decode)`, and a device for the hosts that roam."""

    def make(host: int, epoch: int, config: NodeConfig, env: Environment,
             decode: Callable[[bytes, bytes], wire.Datagram] = wire.decode) -> Broker | Device:
        if host in roaming:
            return Device(host, epoch, config, env, decode, key(seed, host))
        return make_broker(host, epoch, config, env, decode)

    return make
