"""Which headers pass between a client and a task, and what a page that a task serves may do in a browser.

The user's session never reaches a task. A page of a task comes from the gateway's own origin, so that it would have the
rights of the user who opened it: `policy` keeps it to its own path. docs/decisions/0096 says how, and what is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import urljoin, urlsplit

from aiohttp import web
from multidict import CIMultiDict

from resolute.api import devices
from resolute.api.client_address import client_address
from resolute.api.edge import origins
from resolute.api.settings import ApiSettings

HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
    }
)
"""RFC 9110, 7.6.1."""

KEPT_FROM_TASKS = frozenset(
    {
        *("authorization", "cookie", "x-csrf-token", "expect", "forwarded", "x-forwarded-for", "x-forwarded-proto"),
        *("x-forwarded-host", "x-forwarded-prefix", "x-real-ip", "grpc-metadata-x-user-token"),
        "grpc-metadata-x-allocation-token",
    }
)
"""Headers of a client that a task does not get, or gets with another value."""

KEPT_FROM_CLIENTS = frozenset(
    {
        *("set-cookie", "strict-transport-security", "service-worker-allowed", "clear-site-data", "alt-svc"),
        *("cross-origin-opener-policy", "x-frame-options", "location", "x-csrf-token", "public-key-pins"),
    }
)
"""Headers of a task that speak for the whole of the gateway's origin, or are given another value."""

OWN_COOKIES = frozenset({"auth", devices.COOKIE})

_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")


class RedirectsOutside(Exception):
    """A task sends the browser to another part of the gateway."""


def prefix(service: str) -> str:
    return f"/proxy/{service}/"


# ---------------------------------------------------------------- to the task


def for_task(request: web.Request, settings: ApiSettings) -> CIMultiDict[str]:
    """The headers with which a request goes to a task. Those of an upgrade are not among them."""
    dropped = HOP_BY_HOP | KEPT_FROM_TASKS | _named_by_connection(request.headers.getall("Connection", []))
    headers = CIMultiDict((name, value) for name, value in request.headers.items() if name.lower() not in dropped)
    if cookie := "; ".join(_cookies(request.headers.getall("Cookie", []))):
        headers["Cookie"] = cookie
    asked = origins.asked(request, settings.trusted_proxies)
    client = client_address(request, settings.trusted_proxies)
    headers["Host"] = asked.host
    headers["X-Real-IP"] = client
    headers["X-Forwarded-For"] = client
    headers["X-Forwarded-Proto"] = "https" if asked.secure else "http"
    headers["X-Forwarded-Host"] = asked.host
    return headers


def _named_by_connection(values: Sequence[str]) -> frozenset[str]:
    return frozenset(name.strip().lower() for value in values for name in value.split(","))


def _cookies(values: Sequence[str]) -> Iterator[str]:
    """The cookies of a client without those of the gateway."""
    for value in values:
        for pair in value.split(";"):
            name = pair.partition("=")[0].strip().strip('"').lower()
            if name and name not in OWN_COOKIES:
                yield pair.strip()


# ---------------------------------------------------------------- to the client


def for_client(
    answer: Sequence[tuple[str, str]], request: web.Request, service: str, settings: ApiSettings
) -> CIMultiDict[str]:
    """The headers with which the answer of a task goes to a client. Raises RedirectsOutside."""
    connection = [value for name, value in answer if name.lower() == "connection"]
    dropped = HOP_BY_HOP | KEPT_FROM_CLIENTS | _named_by_connection(connection)
    headers = CIMultiDict((name, value) for name, value in answer if name.lower() not in dropped)
    asked = origins.asked(request, settings.trusted_proxies)
    for name, value in answer:
        match name.lower():
            case "set-cookie":
                if (cookie := own_cookie(value, service)) is not None:
                    headers.add("Set-Cookie", cookie)
            case "location":
                headers["Location"] = checked_location(value, request.rel_url.raw_path, asked, service, settings)
    headers.add("Content-Security-Policy", policy(asked, service))
    headers["X-Frame-Options"] = "SAMEORIGIN"
    headers["Cross-Origin-Opener-Policy"] = "noopener-allow-popups"
    headers.setdefault("X-Content-Type-Options", "nosniff")
    headers.setdefault("Referrer-Policy", "same-origin")
    return headers


def own_cookie(value: str, service: str) -> str | None:
    """A cookie that a task sets, for its own path and for no other host. None for one with the name of a cookie of the
    gateway."""
    pair, *attributes = value.split(";")
    name = pair.partition("=")[0].strip().strip('"')
    if not name or name.lower() in OWN_COOKIES or name.startswith(("__Host-", "__Secure-")):
        return None
    kept = [one for one in attributes if one.partition("=")[0].strip().lower() not in ("domain", "path")]
    path = next((one.partition("=")[2].strip() for one in attributes if one.strip().lower().startswith("path=")), "")
    if not path.startswith(prefix(service)):
        path = prefix(service)
    return ";".join([pair, *kept, f" Path={path}"])


def checked_location(value: str, path: str, asked: origins.Asked, service: str, settings: ApiSettings) -> str:
    """Where a task redirects to: its own path, or another host. A browser that follows a redirect into another part of
    the gateway would apply `policy` to the host alone. Raises RedirectsOutside."""
    plain = re.sub(r"[\x00-\x20]", "", value).replace("\\", "/")  # as browsers read it
    base = f"{'https' if asked.secure else 'http'}://{asked.host}{path}"
    try:
        there = urlsplit(urljoin(base, plain))
        own = {urlsplit(url).hostname for url in (base, *settings.public_urls)}
        outside = there.hostname in own and not _within(there.path, service)
    except ValueError:
        outside = True
    if outside or there.scheme not in ("http", "https"):
        raise RedirectsOutside(value[:200])
    return value


def _within(path: str, service: str) -> bool:
    """Whether a path stays below the service, however often it is decoded."""
    dots = re.search(r"(^|/|%2f|%5c)(\.|%2e)(\.|%2e)?($|/|%2f|%5c)", path, re.IGNORECASE)
    return dots is None and (path.startswith(prefix(service)) or path == prefix(service)[:-1])


def policy(asked: origins.Asked, service: str) -> str:
    """The Content-Security-Policy of what a task serves: scripts may speak with the task's own path and with nothing
    else of the gateway."""
    host = asked.host if _HOST.fullmatch(asked.host) else "invalid.invalid"
    path = f"{host}{prefix(service)}"
    own = f"https://{path}" if asked.secure else f"http://{path} https://{path}"
    sockets = f"wss://{path}" if asked.secure else f"ws://{path} wss://{path}"
    return (
        f"default-src {own} data: blob:; "
        f"script-src {own} https: data: blob: 'unsafe-inline' 'unsafe-eval'; "
        f"style-src {own} https: data: blob: 'unsafe-inline'; "
        f"img-src * data: blob:; font-src * data: blob:; media-src * data: blob:; "
        f"connect-src {own} {sockets} data: blob:; worker-src {own} data: blob:; frame-src {own} data: blob:; "
        f"object-src {own} blob:; form-action {own}; base-uri {own}; frame-ancestors 'self'"
    )
