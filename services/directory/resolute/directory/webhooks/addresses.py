"""Which addresses webhooks may be sent to: those outside the cluster, and inside it those that the settings allow."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from yarl import URL

from resolute.proto.errors import InvalidConfig

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

URL_CHARS_MAX = 2_000

WHAT_TO_DO = "An administrator can allow it with webhooks.allowed_networks of the master configuration."


@dataclass(frozen=True, slots=True)
class Allowed:
    """The networks that may be reached although they are not public."""

    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, networks: Iterable[str]) -> Allowed:
        """Raises ValueError for what is no network."""
        return cls(tuple(ipaddress.ip_network(one, strict=False) for one in networks))

    def permits(self, address: Address) -> bool:
        found = _inner(address)
        return _is_public(found) or any(_within(one, network) for one in (address, found) for network in self.networks)


def _inner(address: Address) -> Address:
    """The address of IPv4 that an address of IPv6 stands for, where it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None) or _nat64(address) or address


NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def _nat64(address: ipaddress.IPv6Address) -> Address | None:
    return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64 else None


GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
"""What IANA gives out for public use (RFC 4291). Site-local addresses, which Python calls global, lie outside."""
DOCUMENTATION = ipaddress.IPv6Network("3fff::/20")
"""RFC 9637; Python 3.11 does not know it yet."""


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and (address not in GLOBAL_UNICAST or address in DOCUMENTATION):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _within(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network


def read(url: str) -> URL:
    """Raises InvalidConfig, without the url itself: it may hold a token."""
    if len(url) > URL_CHARS_MAX:
        raise InvalidConfig(f"url: has {len(url)} characters; at most {URL_CHARS_MAX} would do")
    try:
        found = URL(url)
        (found.host or "").encode("idna")  # fails for what the names of the network cannot have
        usable = found.scheme in ("http", "https") and bool(found.host) and found.port is not None
    except ValueError:
        usable = False
    if not usable or any(character.isspace() for character in url):
        raise InvalidConfig("url: expected an address as https://host/path")
    return found


def address_in(host: str) -> Address | None:
    """The address that `host` is; None for a name."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def refused(allowed: Allowed, addresses: Sequence[str]) -> str | None:
    """Why a host with these addresses is not reached; None where each of them is permitted."""
    for one in addresses:
        address = address_in(one)
        if address is None or not allowed.permits(address):
            return f"{one} is not a public address. {WHAT_TO_DO}"
    return None
