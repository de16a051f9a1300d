"""Names and addresses of this very machine, as only it can see itself."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str | None) -> bool:
    """Whether `host`, a name or an address, is this machine as only it can see itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def is_unmistakable(name: str) -> bool:
    """Whether nobody else can make `name` lead to this machine: an address does not change, and `localhost` never
    leaves the machine (RFC 6761). A page of the web may give any other name the address 127.0.0.1."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


def host_of(called: str) -> str:
    """The name in a `Host` header; empty where it holds none."""
    try:
        return urlsplit(f"//{called}").hostname or ""
    except ValueError:
        return ""
