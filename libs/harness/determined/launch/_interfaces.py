"""This container's network interfaces with their IPv4 addresses, in the order in which peers should try them."""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from collections.abc import Sequence
from typing import NamedTuple

_SIOCGIFCONF = 0x8912
_IFREQ_BYTES, _NAME_BYTES, _ADDRESS_AT = 40, 16, 20


class Candidate(NamedTuple):
    """An address that peers may be able to reach."""

    interface: str
    address: str


class NoSuchInterface(Exception):
    """This container has none of the interfaces that the configuration names. The message lists those it has."""


def here() -> list[Candidate]:
    """The interfaces in the kernel's order, without those that have no IPv4 address. Linux only (netdevice(7))."""
    room = array.array("B", bytes(_IFREQ_BYTES * 256))
    place, length = room.buffer_info()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, _SIOCGIFCONF, struct.pack("iL", length, place))
    filled = struct.unpack("iL", answer)[0]
    data = room.tobytes()[:filled]
    return [_candidate(data[at : at + _IFREQ_BYTES]) for at in range(0, filled, _IFREQ_BYTES)]


def _candidate(entry: bytes) -> Candidate:
    name = entry[:_NAME_BYTES].partition(b"\0")[0].decode(errors="replace")
    return Candidate(name.partition(":")[0], socket.inet_ntoa(entry[_ADDRESS_AT : _ADDRESS_AT + 4]))


def in_order(found: Sequence[Candidate], reported: str, configured: str | None) -> list[Candidate]:
    """The addresses of the interfaces in `configured` (names, separated by commas), if it names any. Otherwise all: the
    `reported` address, which the agent has for this container, comes first, and loopback last.

    Raises NoSuchInterface.
    """
    names = [name.strip() for name in (configured or "").split(",") if name.strip()]
    if names:
        chosen = [one for name in names for one in found if one.interface == name]
        if not chosen:
            there = ", ".join(sorted({one.interface for one in found})) or "none with an address"
            raise NoSuchInterface(f"the network interface {' or '.join(names)} is not here; there are: {there}")
        return chosen
    return sorted(found, key=lambda one: (one.address != reported, one.address.startswith("127.")))
