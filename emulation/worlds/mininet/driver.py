"""Mininet-WiFi itself: makes the stations, and moves them on request.

This file is run by the Python that Mininet-WiFi is installed for, which need not be ours (`network.py` starts it): from
3.9 on, the standard library and Mininet-WiFi alone. It speaks over one socket, a JSON object a message, to it first
{"stations", "ports", "exponent", "noise", "ssid", "cell", "beacons", "rate"}. For each station it sends
{"station": number} with the descriptor of its namespace. Then {"at": [[number, x, y, z], ..]} moves stations, and
{"radio": [number, on]} switches a radio. Each of these is answered when it is done, by {"done": ..}, or by
{"failed": sentence}, which is the last.
"""
from __future__ import annotations

import json
import logging
import os
import socket
import sys
from typing import Any

LONGEST = 1 << 18  # bytes of a message
INTERFACE = "wlan0"


class Failed(Exception):
    """str() is one sentence."""


def build(order: dict[str, Any]) -> list[tuple[Any, Any]]:
    """The stations, joined or about to: [(station, its ad hoc link)]."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)  # or Mininet-WiFi writes a file into /tmp
    try:
        from mininet.log import lg
        from mn_wifi.link import adhoc, wmediumd
        from mn_wifi.net import Mininet_wifi
        from mn_wifi.wmediumdConnector import interference
    except ImportError as error:
        raise Failed(f"Mininet-WiFi is installed but cannot be loaded ({error}); install what it lacks for {sys.executable} "
                     "(docs/worlds.md)") from None
    lg.propagate = False  # it says all on its own already
    net = Mininet_wifi(link=wmediumd, wmediumd_mode=interference, noise_th=order["noise"], mode="g", channel=1)
    net.setPropagationModel(model="logDistance", exp=order["exponent"])
    stations = []
    for number, (address, ip, place) in enumerate(order["stations"]):
        station = net.addStation(f"sta{number}", mac=address, ip=ip, position=",".join(map(str, place)))
        station.params["wlan"] = [INTERFACE]  # as the hosts of all worlds have it
        stations.append(station)
    net.configureNodes()
    # its arguments are those of `iw dev wlan0 ibss join`, in that order
    cell = f"{order['cell']} beacon-interval {order['beacons']} mcast-rate {order['rate']:g}"
    links = [net.addLink(station, cls=adhoc, intf=INTERFACE, ssid=order["ssid"], mode="g", channel=1, ht_cap="fixed-freq",
                         ibss=cell) for station in stations]
    net.autoAssociation = False  # which sleeps more than a second a station, and is for access points
    net.build()
    for number in order["ports"]:
        stations[number].cmd(f"ip addr flush dev {INTERFACE}")  # the device has them
    return list(zip(stations, links))


def move(stations: list[tuple[Any, Any]], places: list[tuple[int, float, float, float]]) -> None:
    """Tell wmediumd where stations are. Raises Failed."""
    from mn_wifi.wmediumdConnector import w_server

    try:
        if not w_server.sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
            raise Failed("wmediumd has ended")
    except BlockingIOError:
        pass  # it has nothing to say, as it should be
    except OSError as error:
        raise Failed(f"wmediumd has ended ({error.strerror})") from None
    for number, x, y, z in places:
        try:
            stations[number][0].setPosition(f"{x:.3f},{y:.3f},{z:.3f}")
        except (OSError, ValueError) as error:
            raise Failed(f"wmediumd refused a position ({error})") from None


def switch(stations: list[tuple[Any, Any]], number: int, on: bool) -> None:
    """A station's radio on, joined again, or off."""
    station, link = stations[number]
    if on:
        link.configureAdhoc()
    else:
        station.cmd(f"ip link set {INTERFACE} down")


def serve(channel: socket.socket) -> None:
    stations = build(json.loads(channel.recv(LONGEST).decode()))
    for number, (station, _) in enumerate(stations):
        space = os.open(f"/proc/{station.pid}/ns/net", os.O_RDONLY)
        socket.send_fds(channel, [json.dumps({"station": number}).encode()], [space])
        os.close(space)
    while True:
        try:
            message = channel.recv(LONGEST)
        except ConnectionError:
            return  # it ended with words of ours unread
        if not message:
            return
        order = json.loads(message.decode())
        if "at" in order:
            move(stations, order["at"])
        else:
            switch(stations, *order["radio"])
        channel.send(json.dumps({"done": order.get("radio")}).encode())


def main(descriptor: int) -> None:
    channel = socket.socket(fileno=descriptor)
    channel.set_inheritable(False)
    os.dup2(2, 1)  # what Mininet-WiFi prints goes to the log
    try:
        serve(channel)
    except Failed as error:
        channel.send(json.dumps({"failed": str(error)}).encode())
    except BaseException as error:
        said = f"Mininet-WiFi failed ({type(error).__name__}: {error}); hosts.log has what it said"
        channel.send(json.dumps({"failed": said}).encode())
        raise


if __name__ == "__main__":
    main(int(sys.argv[1]))
