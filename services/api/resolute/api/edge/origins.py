"""Which requests of browsers count: a page of another origin must not act with somebody's cookie, nor sign anybody in.

A browser sends the cookie `auth` with whatever any page asks of the gateway's host, and cookies know no ports: the
page may be one that a trial serves on the same machine. What another page cannot do is read an answer of the gateway.
So a request that is signed by the cookie and may change something must repeat a token that answers carry in
`X-CSRF-Token`, must not come from another page by its `Origin` or `Sec-Fetch-Site`, and must call the gateway by a name
of its own. A request with a bearer token needs none of this: no browser adds that token by itself.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from resolute.api import wire
from resolute.api.client_address import Network, is_in, parsed
from resolute.api.wire import WireError
from resolute.service.addresses import is_unmistakable
from resolute.service.credentials import are_equal, as_shown

TOKEN_HEADER = "X-CSRF-Token"

READING = frozenset({"GET", "HEAD", "OPTIONS"})

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a browser says of a request."""

    method: str
    host: str
    """The `Host` that the client called, as it reached the outermost proxy that is trusted."""
    secure: bool
    origin: str = ""
    site: str = ""
    """`Sec-Fetch-Site`: how the page that asks relates to the gateway (Fetch Metadata, W3C)."""
    mode: str = ""
    """`Sec-Fetch-Mode`: `navigate` where a person follows a link."""
    destination: str = ""
    """`Sec-Fetch-Dest`: what the page wants the answer for."""
    upgrades: bool = False
    """To a WebSocket, for which a page can send no token of its own, but always sends its origin."""

    @property
    def only_reads(self) -> bool:
        return self.method in READING and not self.upgrades


def asked(request: web.BaseRequest, trusted: Sequence[Network]) -> Asked:
    headers = request.headers
    peer = parsed(request.remote or "")
    proxied = peer is not None and is_in(peer, trusted)
    host = _last(headers.get("X-Forwarded-Host", "")) if proxied else ""
    secure = request.secure or (proxied and _last(headers.get("X-Forwarded-Proto", "")).lower() == "https")
    return Asked(
        method=request.method,
        host=host or headers.get("Host", ""),
        secure=secure,
        origin=headers.get("Origin", ""),
        site=headers.get("Sec-Fetch-Site", "").lower(),
        mode=headers.get("Sec-Fetch-Mode", "").lower(),
        destination=headers.get("Sec-Fetch-Dest", "").lower(),
        upgrades="Upgrade" in headers,
    )


def _last(values: str) -> str:
    return values.rpartition(",")[2].strip()


# ---------------------------------------------------------------- pages


def from_another_page(found: Asked, public_urls: Sequence[str]) -> str:
    """The page that the request comes from, in words, where that is not one of the gateway's own; else nothing."""
    if found.origin and not _is_own(found, public_urls):
        return f"a page of {found.origin[:100]}"
    if found.site not in ("cross-site", "same-site"):
        return ""
    follows_a_link = found.only_reads and found.mode == "navigate"
    return "" if follows_a_link else "a page of another origin"


def _is_own(found: Asked, public_urls: Sequence[str]) -> bool:
    """An origin is the gateway's own when it is the address that was called. Where the gateway sees no TLS there may
    be a proxy that does, so that a page which came over TLS is its own too."""
    if found.origin in public_urls:
        return True
    scheme, _, name = found.origin.partition("://")
    if scheme not in _PORTS or (found.secure and scheme != "https"):
        return False
    return (called := _name_and_port(found.host, scheme)) is not None and called == _name_and_port(name, scheme)


def _name_and_port(host: str, scheme: str) -> tuple[str, int] | None:
    try:
        split = urlsplit(f"//{host}")
        return (split.hostname, split.port or _PORTS[scheme]) if split.hostname else None
    except ValueError:
        return None


def check_page(found: Asked, public_urls: Sequence[str]) -> None:
    """Raises WireError where a page of another origin asks for more than reading: logging somebody in, too."""
    page = "" if found.only_reads else from_another_page(found, public_urls)
    if page:
        raise WireError(
            wire.PERMISSION_DENIED,
            f"the request comes from {page}, and only the gateway's own pages may change things without a bearer "
            "token; where that page is the gateway's own, behind a proxy, name it in api.public_urls",
        )


# ---------------------------------------------------------------- the cookie


def csrf_token(secret: bytes, cookie: str) -> str:
    """What a page must repeat: known to whoever can read an answer that was given to `cookie`, and to nobody else."""
    return hmac.new(secret, b"csrf\0" + hashlib.sha256(as_shown(cookie)).digest(), hashlib.sha256).hexdigest()


def cookie_counts(found: Asked, public_urls: Sequence[str], presented: str, expected: str) -> bool:
    """Whether the cookie signs the request. Raises WireError where all that is missing is the token."""
    if from_another_page(found, public_urls) or found.destination in LOADED_AS_CODE:
        return False
    if found.only_reads:
        return True
    if found.upgrades and found.method == "GET":
        return bool(found.origin)
    if not are_equal(presented, expected):
        raise WireError(
            wire.PERMISSION_DENIED,
            f"a request that is signed by the cookie alone must repeat the {TOKEN_HEADER} of an earlier answer, such "
            "as that of GET /api/v1/me; or send the session's token as Authorization: Bearer",
        )
    return True


LOADED_AS_CODE = frozenset(
    {
        *("script", "json", "text", "style", "xslt", "worker", "sharedworker", "serviceworker", "manifest"),
        *("audioworklet", "paintworklet", "iframe", "frame", "object", "embed"),
    }
)
"""What no page of the gateway wants signed answers for. A page of a task may load code from elsewhere, and so must not
be able to load the gateway's data as code (decision 0096)."""


def may_enter(found: Asked, public_urls: Sequence[str]) -> bool:
    """Whether the cookie lets its user enter what a task serves."""
    if from_another_page(found, public_urls):
        return False
    return found.only_reads or bool(found.origin) or found.site == "same-origin"


# ---------------------------------------------------------------- the name that was called


def check_host(found: Asked, public_urls: Sequence[str]) -> None:
    """For a gateway that only its own machine reaches. Raises WireError where it is called by a name that is not its
    own: a page of the web may give its own name the address 127.0.0.1, and would then pass for the gateway's."""
    name = _name_and_port(found.host, "http")
    if not found.host or (name is not None and _is_local(name[0], public_urls)):
        return
    raise WireError(
        wire.MISDIRECTED,
        f"the gateway is not called {found.host[:100]!r}: it listens on this machine only. Call it localhost or by its "
        "address, or name its URL in api.public_urls (RESOLUTE_API_PUBLIC_URLS)",
    )


def _is_local(name: str, public_urls: Sequence[str]) -> bool:
    return is_unmistakable(name) or any(name == urlsplit(url).hostname for url in public_urls)


def read_urls(value: Any) -> Any:
    """Public URLs from what a setting says, `https://cluster.example,https://ml.example:8443`. Raises ValueError."""
    parts = value.split(",") if isinstance(value, str) else value
    urls = tuple(str(part).strip().rstrip("/").lower() for part in parts if str(part).strip())
    for url in urls:
        split = urlsplit(url)
        if split.scheme not in _PORTS or not split.hostname or split.path or split.query or split.username:
            raise ValueError(f"expected URLs such as https://cluster.example, without a path; found {url!r}")
    return urls
