"""Generic netlink, as much of it as a radio needs: families by name, questions and answers.

include/uapi/linux/genetlink.h and netlink.h of the kernel; the messages' common parts are those of
emulation/linux/netlink.py.
"""
from __future__ import annotations

import os
import socket
import struct
import sys

from emulation.linux import netlink
from emulation.linux.netlink import ACKNOWLEDGE, HEADER, NLMSG_ERROR, REQUEST, attribute

NETLINK_GENERIC = 16
SOL_NETLINK, NETLINK_CAP_ACK = 270, 10
CONTROLLER, GET_FAMILY, FAMILY_ID, FAMILY_NAME = 16, 3, 1, 2
GENERIC = struct.Struct("=BBH")  # command, version, reserved
HEADS = HEADER.size + GENERIC.size
LONGEST = 16384  # bytes of an answer
VERSION = 1


def open_socket(port: int = 0) -> socket.socket:
    """A socket in this network namespace; `port` is its address there, 0 for one that the kernel chooses."""
    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
    try:
        opened.setsockopt(SOL_NETLINK, NETLINK_CAP_ACK, 1)  # what is refused need not be read once more
        opened.bind((port, 0))
    except OSError:
        opened.close()
        raise
    return opened


def family(opened: socket.socket, name: str) -> int:
    """The number of a family. Raises OSError, FileNotFoundError where the kernel has no such family."""
    opened.send(message(CONTROLLER, GET_FAMILY, attribute(FAMILY_NAME, name.encode() + b"\0")))
    answer = opened.recv(LONGEST)
    _failure(answer, name)
    return int.from_bytes(attributes(answer)[FAMILY_ID], sys.byteorder)


def ask(opened: socket.socket, kind: int, command: int, body: bytes = b"") -> int:
    """Have a command done; the number that it answers with. Raises OSError."""
    opened.send(message(kind, command, body, REQUEST | ACKNOWLEDGE))
    while True:  # notices of other things may come before
        answer = opened.recv(LONGEST)
        if HEADER.unpack_from(answer)[1] == NLMSG_ERROR:
            return _failure(answer, "generic netlink")


def message(kind: int, command: int, body: bytes, flags: int = REQUEST, sequence: int = 0) -> bytes:
    return HEADER.pack(HEADS + len(body), kind, flags, sequence, 0) + GENERIC.pack(command, VERSION, 0) + body


def attributes(data: bytes) -> dict[int, bytes]:
    """The attributes of one message. Raises ValueError for one that is cut off."""
    end = int.from_bytes(data[:4], sys.byteorder)
    if end > len(data):
        raise ValueError("a message that is cut off")
    return netlink.attributes(data, HEADS, end)


def _failure(answer: bytes, what: str) -> int:
    """What an acknowledgement says; raises OSError when that is an error."""
    if HEADER.unpack_from(answer)[1] != NLMSG_ERROR:
        return 0
    code: int = struct.unpack_from("=i", answer, HEADER.size)[0]
    if code < 0:
        raise OSError(-code, os.strerror(-code), what)
    return code
