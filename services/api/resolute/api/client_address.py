"""The address of the client behind a request: the peer's own, or what a trusted proxy says of it.

`X-Forwarded-For` is believed only when the connection comes from a network in `trusted_proxies`. Every proxy appends
the address that it was called from, so the list is read from its end: the last address that is not a trusted proxy is
the client. What stands before it was written by the client, who may write anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

import orjson
from aiohttp import web

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

FORWARDED_MAX = 32
"""Addresses of `X-Forwarded-For` that are read, counted from its end."""

IPV6_PREFIX = 64
"""A provider gives each customer at least so large a network, so limits count it as one client."""


def client_address(request: web.BaseRequest, trusted: Sequence[Network]) -> str:
    """The address of the client, as text; empty where the peer has none, as on a Unix socket."""
    return address_of(request.remote or "", request.headers.getall("X-Forwarded-For", []), trusted)


def address_of(peer: str, forwarded: Sequence[str], trusted: Sequence[Network]) -> str:
    """The address of the client of a connection from `peer`, with `forwarded` in its `X-Forwarded-For` headers."""
    found = parsed(peer)
    if found is None:
        return peer
    hops = [hop for header in forwarded for hop in header.split(",")][-FORWARDED_MAX:]
    while hops and is_in(found, trusted):
        hop = parsed(hops.pop())
        if hop is None:  # "unknown", or an obfuscated name: the proxy itself is all that is known
            break
        found = hop
    return str(found)


def counted_as(address: str) -> str:
    """The name under which limits count `address`: itself for IPv4, its /64 network for IPv6."""
    found = parsed(address)
    if isinstance(found, IPv6Address):
        return str(IPv6Network((found, IPV6_PREFIX), strict=False))
    return str(found) if found is not None else address


def parsed(text: str) -> Address | None:
    """The address in `text`, which may carry a port or a zone, or None. IPv4 written as IPv6 is IPv4."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def is_in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)


def read_networks(value: Any) -> Any:
    """Networks from what a setting says: a list, JSON, or `10.0.0.0/8,fd00::/8`. Raises ValueError."""
    if isinstance(value, str):
        value = orjson.loads(value) if value.lstrip().startswith("[") else [part for part in value.split(",") if part]
    networks = tuple(ip_network(str(part).strip()) for part in value)
    for network in networks:
        if network.prefixlen == 0:
            raise ValueError(
                f"expected the networks of your proxies; found {network}, which is every address: any client could "
                "then claim to be another"
            )
    return networks
