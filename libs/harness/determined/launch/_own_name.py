"""The address to which a host's own name resolves.

Horovod connects its process sets, one of which has all ranks, at that address, whatever interface is configured
(0.28.1: `GlooContext::InitializeForProcessSet` passes no interface, and gloo then resolves the name). When the name
resolves to another address than the one that the gang has tested, the ranks would wait for each other in vain.
"""

from __future__ import annotations

import pathlib
import socket

HOSTS = pathlib.Path("/etc/hosts")
MOUNTS = pathlib.Path("/proc/self/mountinfo")


class Unreachable(Exception):
    """The name resolves to an address that no other host can reach, and this process cannot change that."""


def resolve_own_name_to(address: str, hosts: pathlib.Path = HOSTS, mounts: pathlib.Path = MOUNTS) -> str | None:
    """Makes this host's name resolve to `address`. Returns a warning when that is not possible but may work without.

    Changes /etc/hosts of a container only, never that of a machine. Raises Unreachable.
    """
    name = socket.gethostname()
    known = _resolved(name)
    if known == address or _is_loopback(address):  # with a loopback address all ranks are on one machine
        return None
    if _is_a_containers_own(hosts, mounts) and _first_line(hosts, f"{address}\t{name}"):
        return None
    remedy = f"have /etc/hosts say that {name} is {address}"
    if known is None or _is_loopback(known):
        raise Unreachable(f"this host's own name, {name}, resolves to {known or 'no address'}; {remedy}")
    return f"Horovod may try to reach this host at {known}, and others reach it at {address}; if it hangs, {remedy}"


def _resolved(name: str) -> str | None:
    try:
        found = socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)
    except OSError:
        return None
    return str(found[0][4][0])


def _is_loopback(address: str) -> bool:
    return address.startswith("127.")


def _is_a_containers_own(hosts: pathlib.Path, mounts: pathlib.Path) -> bool:
    """Whether the file belongs to a container: container engines mount a file over that of the image."""
    return any(line.split()[4] == str(hosts) for line in mounts.read_text().splitlines())


def _first_line(hosts: pathlib.Path, line: str) -> bool:
    """Writes `line` before all others, where it takes precedence. Returns whether that was possible."""
    try:
        # In place: a mounted file cannot be replaced by renaming another one.
        hosts.write_text(f"{line}\n{hosts.read_text()}")
    except OSError:
        return False
    return True
