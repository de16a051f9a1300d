"""The address that a host's own name stands for.

Horovod connects its process sets, of which one is made of all ranks, at that address, whatever interface it is told
(0.28.1: `GlooContext::InitializeForProcessSet` asks for no interface, and gloo then looks the name up). Where the name
stands for another address than the one the gang has found to be reached, the ranks would wait for each other in vain.
"""

from __future__ import annotations

import pathlib
import socket

HOSTS = pathlib.Path("/etc/hosts")
MOUNTS = pathlib.Path("/proc/self/mountinfo")


class Unreachable(Exception):
    """The name stands for an address that no other host can reach, and cannot be changed from here."""


def let_it_stand_for(address: str, hosts: pathlib.Path = HOSTS, mounts: pathlib.Path = MOUNTS) -> str | None:
    """See to it that this host's name stands for `address`; what to warn of where that cannot be had.

    Only a container's own table of hosts is changed, never that of a machine. Raises Unreachable.
    """
    name = socket.gethostname()
    known = _stands_for(name)
    if known == address or _is_loopback(address):  # who meets at loopback is on one machine
        return None
    if _is_a_containers_own(hosts, mounts) and _first_line(hosts, f"{address}\t{name}"):
        return None
    remedy = f"have /etc/hosts say that {name} is {address}"
    if known is None or _is_loopback(known):
        raise Unreachable(f"this host's own name, {name}, stands for {known or 'no address'}; {remedy}")
    return f"Horovod may try to reach this host at {known}, and others reach it at {address}; if it hangs, {remedy}"


def _stands_for(name: str) -> str | None:
    try:
        found = socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)
    except OSError:
        return None
    return str(found[0][4][0])


def _is_loopback(address: str) -> bool:
    return address.startswith("127.")


def _is_a_containers_own(hosts: pathlib.Path, mounts: pathlib.Path) -> bool:
    """Container engines mount a file of the container's own over the image's."""
    return any(line.split()[4] == str(hosts) for line in mounts.read_text().splitlines())


def _first_line(hosts: pathlib.Path, line: str) -> bool:
    """Whether it could be put before all others, where it is the one that holds."""
    try:
        # In place: what is mounted cannot be replaced by another file.
        hosts.write_text(f"{line}\n{hosts.read_text()}")
    except OSError:
        return False
    return True
