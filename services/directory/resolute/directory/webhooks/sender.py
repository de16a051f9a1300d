"""Requests to receivers: with limits of time, without redirects, and to no address that is not permitted.

The addresses of a host are looked up and checked before the request. The socket is checked once more when it is made,
because a name may have led to another address meanwhile (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp

from resolute.directory.webhooks import addresses
from resolute.directory.webhooks.addresses import Allowed

REQUEST_S = 10.0
"""How long a request may take, from the look-up of the address to the status of the answer."""

LOOK_UP_S = 3.0

USER_AGENT = "resolute-webhooks"

AGAIN = frozenset({408, 425, 429})
"""Statuses below 500 after which the same request may succeed later."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int | None = None
    """Of HTTP; None where there was no answer."""
    why: str = ""
    """What went wrong; it has no part of the url, which may hold a token."""
    final: bool = False
    """Whether the same request would fail again."""

    @property
    def succeeded(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class Send(Protocol):
    async def __call__(self, url: str, sent: bytes, headers: Mapping[str, str]) -> Answer:
        """One request. It raises nothing because of the receiver."""
        ...


class HttpSender:
    def __init__(self, allowed: Allowed, limit_s: float = REQUEST_S) -> None:
        self._allowed, self._limit_s = allowed, limit_s

    async def __call__(self, url: str, sent: bytes, headers: Mapping[str, str]) -> Answer:
        try:
            async with asyncio.timeout(self._limit_s):
                if why := await self.problem(url):
                    return Answer(why=why, final=True)
                return await self._request(url, sent, headers)
        except TimeoutError:
            return Answer(why=f"no answer within {self._limit_s:g} s")
        except (OSError, ValueError, aiohttp.ClientError) as error:
            return Answer(why=f"cannot be reached: {type(error).__name__}")

    async def problem(self, url: str) -> str | None:
        """Why requests to this address are refused; None where they are not. Raises OSError for a host that is not
        found, and InvalidConfig for what is no address."""
        host = addresses.read(url).host or ""
        if addresses.address_in(host) is not None:
            return addresses.refused(self._allowed, [host])
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(LOOK_UP_S):
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return addresses.refused(self._allowed, [str(one[4][0]) for one in found])

    async def _request(self, url: str, sent: bytes, headers: Mapping[str, str]) -> Answer:
        connector = aiohttp.TCPConnector(socket_factory=self._socket, force_close=True, use_dns_cache=False)
        given = {"Content-Type": "application/json", "User-Agent": USER_AGENT, **headers}
        async with (
            aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
            ) as session,
            session.post(addresses.read(url), data=sent, headers=given, allow_redirects=False) as response,
        ):
            status = response.status
            response.close()  # what the receiver says besides is not read
        return _answer(status)

    def _socket(self, found: Any) -> socket.socket:
        family, kind, protocol, _, address = found
        if why := addresses.refused(self._allowed, [str(address[0])]):
            raise OSError(why)
        return socket.socket(family, kind, protocol)


def _answer(status: int) -> Answer:
    if 200 <= status < 300:
        return Answer(status)
    if 300 <= status < 400:
        return Answer(status, f"it answered with {status}, a redirect; those are not followed", final=True)
    return Answer(status, f"it answered with {status}", final=status < 500 and status not in AGAIN)
