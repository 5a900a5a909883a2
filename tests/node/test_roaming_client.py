"""The client library of a device: what it refuses, and the state that makes it the same device again.

That it works over real sockets, walking from broker to broker, is in tests/system/test_roaming_netns.py.
"""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from emulation import addresses
from emulation.linux import kernel, netlink
from node.client import ClientError
from node.roaming.client import RoamingClient, _identity
from node.shell import DaemonError
from node.shell.locks import Lock
from tests.emulation.spaces import elsewhere
from tests.node.field_hosts import as_root


def test_it_says_what_is_wrong(tmp_path):
    with pytest.raises(ClientError, match="there is no interface nosuch0; there are lo"):
        RoamingClient("nosuch0", id=70)
    with pytest.raises(ClientError, match="give its id, too"):
        RoamingClient("lo", state=tmp_path / "device.json")


def test_a_device_is_known_again_by_its_state(tmp_path):
    state = tmp_path / "device.json"
    epoch, key = _identity(70, state)
    assert _identity(70, state) == (epoch + 1, key) and len(key) == 16
    assert (tmp_path / "device.json.key").stat().st_mode & 0o777 == 0o600
    assert _identity(70, None)[1] != _identity(70, None)[1]
    (tmp_path / "device.json.key").write_bytes(b"short")
    with pytest.raises(DaemonError, match="not the key of a device"):
        _identity(70, state)
    with pytest.raises(DaemonError, match="the state of node 70, not of 71"):
        _identity(71, state)


@pytest.mark.parametrize("option", ["state", "records"])
def test_a_file_that_another_has_is_refused(tmp_path, option):
    lock = Lock(tmp_path / "file")
    with pytest.raises(ClientError, match=f"another node that runs has this file; stop it or choose another path for --{option}"):
        RoamingClient("lo", id=7, **{option: tmp_path / "file"})
    lock.release()
    assert list(tmp_path.iterdir()) == []


@as_root
def test_a_signal_is_heeded_that_does_not_end_the_wait_for_an_event():
    """As one that comes just before the wait begins. No event comes here."""
    def strike() -> None:
        time.sleep(0.3)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # this thread's, so that no wait of the other ends by it

    def wait() -> None:
        signal.alarm(60)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        tap = kernel.open_tap(addresses.INTERFACE, addresses.INDEX)
        netlink.set_up(7)
        with RoamingClient(addresses.INTERFACE, id=7) as client:
            threading.Thread(target=strike).start()
            client.receive()
        os.close(tap)

    assert elsewhere(wait).startswith("KeyboardInterrupt")
