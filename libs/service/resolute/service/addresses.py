"""Names and addresses that stand for this machine on the machine itself: loopback."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str | None) -> bool:
    """Whether `host`, a name or an address, is a loopback address, which other machines cannot reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def is_unmistakable(name: str) -> bool:
    """Whether `name` means the same machine for everybody: an address does, and `localhost` always means this machine
    (RFC 6761). The owner of any other name can let it resolve to 127.0.0.1, so that the browser of a person here sends
    requests to this machine (DNS rebinding)."""
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
